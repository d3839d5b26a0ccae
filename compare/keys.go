package compare

import "slices"

// A text is proposed by its fingerprint and by keys, all of them postings.
//
// A short text, for which SimHash does not work, has banded MinHash keys (Indyk & Motwani 1998): two texts of
// resemblance J share one of them with probability 1 − (1 − Jʳ)ᵇ. With two rows in twelve bands that is .97 for
// .5, .68 for .3 and .11 for .1.
//
// Other texts have passage keys, the lowest hashes of their long shingles. They are a sample without
// replacement of the passages, and the same sample wherever a passage stands, so an excerpt or a round-up is
// proposed although most of its text is different (bottom-k sampling, Broder 1997). A few sentences of a long article
// have few of its lowest hashes, if any, and are mostly its first ones, so the opening has a key of its own. A key
// that many texts have is boilerplate: only a few of its postings are worth a comparison.
const (
	shortTokens   = 200 // most tokens of a text that has Keys
	rows          = 2
	passageTokens = 48 // least tokens of a text that has passage keys, and those of its opening
	passageK      = 8  // tokens of a passage's shingle
	leastFigures  = 4  // least distinct ones of a text that has a key of them
)

// Keys are the banded MinHash keys of a short text, 12 of them. A longer text and a blank one have none.
func (s *Sketch) Keys() (keys []uint64) {
	for i, v := range s.keys[:s.nkeys] {
		keys = append(keys, spread(1+i, v))
	}
	return keys
}

// PassageKeys are the keys of a text that shares a long passage with another text, or all its figures. At most
// 8: six of passages and one of the opening, none for a text of under 48 tokens; and one of all figures for a text with
// at least four, which finds the copy of a bulletin among bulletins of the same form.
func (s *Sketch) PassageKeys() (keys []uint64) {
	for _, v := range s.keys[s.nkeys:][:s.npassages] {
		keys = append(keys, spread(1+bands, v))
	}
	return keys
}

// spread expands a stored key to 64 bits; keys of two bands are never equal.
func spread(band int, stored uint32) uint64 { return mix(uint64(band)<<32 | uint64(stored)) }

// keepKeys fills the keys; hashes are the shingles of the text, and overwritten.
func (s *Sketch) keepKeys(tokens []token, hashes []uint64) {
	if len(tokens) <= shortTokens {
		for b := range bands {
			var h uint64
			for r := range rows {
				least, seed := ^uint64(0), mix(uint64(b*rows+r+1))
				for _, x := range hashes {
					least = min(least, mix(x^seed))
				}
				h = mix(h ^ least)
			}
			s.keys[b] = uint32(h >> 32)
		}
		s.nkeys = bands
	}
	if len(tokens) < passageTokens {
		return
	}
	long := appendShingles(hashes[:0], tokens, passageK)
	lead := slices.Min(long[:passageTokens-passageK+1])
	least := lowest(long, passages-2)
	if !slices.Contains(least, lead) {
		least = append(least, lead)
	}
	for _, h := range least {
		s.keepPassage(h)
	}
}

func (s *Sketch) keepPassage(h uint64) {
	s.keys[s.nkeys+s.npassages] = uint32(h >> 8) // the highest bits are 0 in most of the lowest
	s.npassages++
}

// lowest returns the lowest n distinct hashes, the lowest first.
func lowest(hashes []uint64, n int) []uint64 {
	out := make([]uint64, 0, n+1)
	for _, h := range hashes {
		if len(out) == n && h >= out[n-1] {
			continue
		}
		if at, found := slices.BinarySearch(out, h); !found {
			out = slices.Insert(out, at, h)
			out = out[:min(n, len(out))]
		}
	}
	return out
}
