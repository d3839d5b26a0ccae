package sketch

import (
	"slices"
	"time"
)

// ownDays counts what tells two bulletins apart although nearly all their words are equal: a place where each text
// names the day of its own publication, and a day in the opening of the earlier text alone on which the later one was
// published: it announces what the later text tells.
func (x *Alignment) ownDays(w *workspace, later, earlier int32) (n int) {
	for _, p := range x.Pairs {
		switch {
		case p.Earlier == nil || later <= earlier || earlier <= 0:
		case p.Conflict && p.Later.on(later) && p.Earlier.on(earlier) && !p.Later.among(w.c.said),
			p.Later == nil && p.Earlier.from < openingTokens && p.Earlier.on(later) && !p.Earlier.on(earlier):
			n++
		}
	}
	return n
}

// on reports whether a fact is a date, of a day or of the next one: a feed gives its times in UTC, where China's day
// begins in the evening before.
func (f *Fact) on(day int32) bool {
	if f.Kind != FactTime || f.time[2] < 0 {
		return false
	}
	for d := day; d <= day+1; d++ {
		t := time.Unix(int64(d)*24*60*60, 0).UTC()
		if f.time[2] == t.Day() && (f.time[1] < 0 || f.time[1] == int(t.Month())) && (f.time[0] < 0 || f.time[0] == t.Year()) {
			return true
		}
	}
	return false
}

// among reports whether a fact is equal to one of others.
func (f *Fact) among(others []Fact) bool {
	return slices.ContainsFunc(others, func(o Fact) bool { return f.Equal(&o) })
}

// repriced reports whether two headlines differ in a figure, such as a price, that the earlier text has nowhere.
func (w *workspace) repriced() bool {
	q, c := &w.q, &w.c
	if pairShare(q.in.Title, c.in.Title) < sameTitle {
		return false
	}
	later, earlier := side{text: q.in.Title}, side{text: c.in.Title}
	own, others := later.appendFacts(nil, q.head), earlier.appendFacts(nil, c.head)
	return slices.ContainsFunc(own, func(f Fact) bool {
		return f.unit != "" && !f.among(others) && !f.among(c.said) &&
			slices.ContainsFunc(others, func(o Fact) bool { return f.comparable(&o) && !o.among(own) })
	})
}
