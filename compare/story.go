package compare

// Bounds of what two texts of one story have in common.
const (
	openingPart  = 100 // tokens of what a text begins with, which says what it is about
	openingLeast = .1  // share of one opening that the other text has
	openingRun   = 4   // tokens of the shortest run in common that counts
)

// Adds is how many characters of a later text an earlier one lacks, whatever the two are of each other.
func Adds(later, earlier *Doc) int {
	x := Align(later, earlier)
	if x.Later.run == nil {
		return later.characters(0, len(later.tokens))
	}
	return x.Later.news(earlier, x.limits).Characters
}

// Apart reports whether hardly anything of either opening is in the other text: the two tell of two matters, however
// much background they share.
func (x *Alignment) Apart() bool { return max(x.Later.opening(), x.Earlier.opening()) < openingLeast }

// opening is the share of a text's opening that the other one has.
func (s *Side) opening() float64 {
	known, opening := 0, s.run[:min(len(s.run), openingPart)]
	for _, run := range opening {
		if run >= openingRun {
			known++
		}
	}
	return float64(known) / float64(max(1, len(opening)))
}

// SameMatter reports whether the later text shares with two earlier ones the same half of what it shares with one. A
// round-up shares something else with each.
func SameMatter(x, y *Alignment) bool {
	a, b, both := 0, 0, 0
	for i, run := range x.Later.run {
		inX, inY := run >= openingRun, y.Later.run[i] >= openingRun
		switch {
		case inX && inY:
			both++
		case inX:
			a++
		case inY:
			b++
		}
	}
	return both > 0 && 2*both >= both+min(a, b)
}
