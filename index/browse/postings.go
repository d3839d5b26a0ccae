package browse

// wordPosting is a word and a version that has it: the word's key, and the ordinal.
type wordPosting uint64

func (p wordPosting) word() uint32    { return uint32(p >> 32) }
func (p wordPosting) ordinal() uint32 { return uint32(p) }

// A digit of sortPostings. With 11 bits the counters fit the first-level cache.
const (
	digitBits = 11
	digits    = 1 << digitBits
)

// sortPostings sorts by word, then by ordinal, from the lowest digit to the highest.
// A batch has a few million postings of a few thousand versions, so that only the low
// digits of ordinals differ, and those that do not cost nothing.
func sortPostings(p []wordPosting) []wordPosting {
	var differ wordPosting
	for _, v := range p {
		differ |= v ^ p[0]
	}
	var spare []wordPosting
	for shift := 0; shift < 64; shift += digitBits {
		if differ>>shift&(digits-1) == 0 {
			continue
		}
		if spare == nil {
			spare = make([]wordPosting, len(p))
		}
		var at [digits]uint32
		for _, v := range p {
			at[v>>shift&(digits-1)]++
		}
		var before uint32
		for i, n := range at {
			at[i] = before
			before += n
		}
		for _, v := range p {
			d := v >> shift & (digits - 1)
			spare[at[d]] = v
			at[d]++
		}
		p, spare = spare, p
	}
	return p
}
