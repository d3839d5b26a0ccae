package compare

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
func (x *Alignment) Apart() bool {
	return max(x.Later.opening(x.limits), x.Earlier.opening(x.limits)) < x.limits.Matter
}

// opening is the share of a text's opening that the other one has.
func (s *Side) opening(l *Limits) float64 {
	known, opening := 0, s.run[:min(len(s.run), l.Opening)]
	for _, run := range opening {
		if int(run) >= l.Run {
			known++
		}
	}
	return float64(known) / float64(max(1, len(opening)))
}

// SameMatter reports whether the later text shares with two earlier ones enough of what it shares with one. A round-up
// shares something else with each.
func SameMatter(x, y *Alignment) bool {
	a, b, both := 0, 0, 0
	for i, run := range x.Later.run {
		inX, inY := int(run) >= x.limits.Run, int(y.Later.run[i]) >= x.limits.Run
		switch {
		case inX && inY:
			both++
		case inX:
			a++
		case inY:
			b++
		}
	}
	return both > 0 && float64(both) >= x.limits.Both*float64(both+min(a, b))
}
