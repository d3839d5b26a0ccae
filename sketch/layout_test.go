package sketch

import (
	"fmt"
	"strings"
	"testing"
)

// clauses are n clauses of which no two characters are alike; another from
// gives others. There is no numeral among them.
func clauses(n, from int) string {
	var b strings.Builder
	for i := range n {
		for k := range 12 {
			b.WriteRune(rune(0x6000 + (from+i)*12 + k))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestLayout: what is moved, what is put between, and which text is the longer.
func TestLayout(t *testing.T) {
	head, tail, more := clauses(15, 0), clauses(15, 20), clauses(4, 40)
	compare := func(q, c string) (Layout, Evidence) {
		r := CompareTexts(Input{Body: q}, Input{Body: c})
		return r.Layout, r.Evidence()
	}
	if l, e := compare(head+tail, head+tail); l.Moved != 0 || l.AmidA+l.AmidB != 0 || e[Grown] != 0 {
		t.Errorf("a text and itself: %+v, grown %v", l, e[Grown])
	}
	if l, _ := compare(tail+head, head+tail); l.Moved == 0 || l.AmidA+l.AmidB != 0 {
		t.Errorf("two halves changed about: %+v", l)
	}
	if l, e := compare(head+more+tail, head+tail); l.AmidA == 0 || l.AmidB != 0 || l.Moved != 0 || e[Grown] == 0 {
		t.Errorf("some put between: %+v, grown %v", l, e[Grown])
	}
	if l, e := compare(head+tail, head+more+tail); l.AmidB == 0 || l.AmidA != 0 || e[Grown] != 0 {
		t.Errorf("some cut from between: %+v, grown %v", l, e[Grown])
	}
	if l, _ := compare(head+tail+more, head+tail); l.NovelA == 0 || l.AmidA != 0 {
		t.Errorf("some put after: %+v", l)
	}
}

// TestFewFiguresChanged: the bulletin of another day, most of whose figures
// are those of the day before.
func TestFewFiguresChanged(t *testing.T) {
	bulletin := func(changed int) Input {
		var b strings.Builder
		for i := range 12 {
			figure := 100 + 7*i
			if i%4 == 1 && i/4 < changed {
				figure += 3
			}
			fmt.Fprintf(&b, "%s%d万元\n", clauses(4, 5*i), figure)
		}
		return Input{Body: b.String()}
	}
	th := DefaultThresholds()
	for changed, want := range []Kind{Duplicate, Duplicate, Suspect, Suspect} {
		c := CompareTexts(bulletin(changed), bulletin(0))
		if c.Facts.OtherSlot != changed || c.Facts.SameSlot != 12-changed {
			t.Fatalf("%d changed: %+v", changed, c.Facts)
		}
		if j := Judge(c, -1, th); j.Kind != want {
			t.Errorf("%d of 12 figures changed: %+v", changed, j)
		}
	}
}
