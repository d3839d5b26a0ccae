package compare

// Adds is how many characters of a later text an earlier one lacks, whatever the two are of each other.
func Adds(later, earlier *Doc) int {
	return Align(later, earlier).Later.news(earlier, DefaultLimits().Sought).Characters
}

// OneMatter reports whether two texts tell of one matter, however much background they share: a copy does; a suspect
// does if sharesOpening; an unrelated text does if both begin with what the other one tells, within days, and nothing
// says that they have two subjects.
func (j *Judgement) OneMatter() bool {
	switch x, l := j.Alignment, j.limits; {
	case j.Kind == Duplicate || j.Kind == Series:
		return j.Kind == Duplicate
	case j.Kind == Suspect:
		return x.sharesOpening()
	case min(x.Later.opening(l), x.Earlier.opening(l)) < l.Matter || !x.near():
		return false
	}
	g := j.Alignment.Agreement()
	reason, _ := j.otherSubject(&g, j.limits)
	return reason == "" && !j.twoSubjects()
}

// sharesOpening reports whether one of two texts begins with what the other one tells, unless days lie between and each
// has a subject of its own.
func (x *Alignment) sharesOpening() bool {
	return max(x.Later.opening(x.limits), x.Earlier.opening(x.limits)) >= x.limits.Matter &&
		(x.near() || !x.twoSubjects())
}

func (x *Alignment) near() bool { return x.apart() <= x.limits.Recurs }

func (x *Alignment) twoSubjects() bool {
	return len(x.Later.subjects(x.Earlier.Doc)) > 0 && len(x.Earlier.subjects(x.Later.Doc)) > 0
}

// opening is the share of a text's opening that the other one has.
func (s *Side) opening(l *Limits) float64 { return inRuns(s.run[:min(len(s.run), l.Opening)], l.Run) }

// SameMatter reports whether the later text shares with two earlier ones enough of what it shares with one. A round-up
// shares something else with each.
func SameMatter(x, y *Alignment) bool {
	a, b, both, least := 0, 0, 0, x.limits.Run
	for i, run := range x.Later.run {
		inX, inY := int(run) >= least, int(y.Later.run[i]) >= least
		if inX {
			a++
		}
		if inY {
			b++
		}
		if inX && inY {
			both++
		}
	}
	return both > 0 && float64(both) >= x.limits.Both*float64(min(a, b))
}
