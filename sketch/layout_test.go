package sketch

import (
	"fmt"
	"slices"
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

// reworded are the first n clauses with two characters of each put for others, those of the clauses from another number on.
func reworded(n, from int) string {
	own, other := strings.Split(clauses(n, 0), "\n"), strings.Split(clauses(n, from), "\n")
	for i := range n {
		own[i] = own[i][:15] + other[i][:6] + own[i][21:]
	}
	return strings.Join(own, "\n")
}

// TestFoot: a line of credits in the last third of an article ends it, and headlines of others behind it count nowhere.
func TestFoot(t *testing.T) {
	article, others := clauses(30, 0), clauses(4, 40)
	for _, c := range []struct {
		name, later string
		rest        int
	}{
		{"credits", article + "广州日报编辑\n沈佳编校\n" + others, 6},
		{"an invitation", article + "推荐阅读\n" + others, 0},
		{"credits in the middle", clauses(12, 0) + "沈佳编校\n" + strings.TrimPrefix(article, clauses(12, 0)), 4},
		{"a word that ends with one", article + "基因编辑\n" + others, 52},
		{"a long clause", article + "责编了三遍的书稿到了读者手里的时候已经是秋天了大家都很高兴\n" + others, 77},
		{"more than a name behind it", article + "责编们认真读了三遍\n" + others, 57},
		{"a lone editor", article + "编辑\n何路曼\n" + others, 53},
		{"the source of a photo", article + "图片来源\n塔斯社\n" + others, 55},
		{"a word of invitations", article + "期待更多精彩的表现\n" + others, 57},
	} {
		if l := Align(Input{Body: c.later}, Input{Body: article}).Layout; l.RestA != c.rest {
			t.Errorf("%s: %d tokens of the later text's own, want %d", c.name, l.RestA, c.rest)
		}
	}
}

// TestLayout: what is moved, what is put between, and what the later text says in other characters.
func TestLayout(t *testing.T) {
	head, tail, more := clauses(15, 0), clauses(15, 20), clauses(4, 40)
	for _, c := range []struct {
		name, q, c               string
		moved, foreign           bool
		restA, restB, ownA, ownB int
		matter                   int
	}{
		{"a text and itself", head + tail, head + tail, false, false, 0, 0, 0, 0, 0},
		{"two halves changed about", tail + head, head + tail, true, false, 0, 0, 0, 0, 0},
		{"some put between", head + more + tail, head + tail, false, true, 48, 0, 48, 0, 48 - stretch},
		{"some cut from between", head + tail, head + more + tail, false, false, 0, 48, 0, 48, 0},
		{"some put after", head + tail + more, head + tail, false, true, 48, 0, 48, 0, 47 - stretch},
		{"other words in each clause", reworded(30, 60), clauses(30, 0), false, false, 60, 60, 0, 0, 0},
	} {
		x := Align(Input{Body: c.q}, Input{Body: c.c})
		l := &x.Layout
		moved := slices.ContainsFunc(x.Matches, func(m Match) bool { return m.Moved })
		if moved != c.moved || l.Unknown > 0 != c.foreign || l.RestA != c.restA || l.RestB != c.restB || l.NovelA != c.ownA || l.NovelB != c.ownB || l.Matter != c.matter {
			t.Errorf("%s: moved %v, %+v", c.name, moved, l)
		}
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
		c := compareTexts(bulletin(changed), bulletin(0))
		if c.Facts.OtherSlot != changed || c.Facts.SameSlot != 12-changed {
			t.Fatalf("%d changed: %+v", changed, c.Facts)
		}
		if j := Judge(c, th); j.Kind != want {
			t.Errorf("%d of 12 figures changed: %+v", changed, j)
		}
	}
}
