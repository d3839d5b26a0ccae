package compare

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

func bounded(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteRune(rune(0x4e00 + r.IntN(6000)))
	}
	return b.String()
}

// unlisted are words of one character, none of which is in the dictionary.
func unlisted(n int) []int32 {
	words := make([]int32, n)
	for i := range words {
		words[i] = int32(4 * 3 * i)
	}
	return words
}

// Names at thousands of places of a long text are sought within Limits.Sought, and a headline counts up to
// headlineMost.
func TestSeekWork(t *testing.T) {
	text := func(seed uint64) *Text {
		same, own := rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(seed, 7))
		var b strings.Builder
		for b.Len() < 200<<10 {
			b.WriteString(bounded(same, 8) + bounded(own, 2))
		}
		return &Text{Title: b.String(), Body: b.String(), Words: unlisted(b.Len() / 3)}
	}
	x := Align(NewDoc(text(1)), NewDoc(text(2)))
	if g := x.Agreement(); len(g.Conflicts) < 10 || len(g.Conflicts) > x.limits.Sought/(400<<10) {
		t.Errorf("%d conflicts", len(g.Conflicts))
	}
	if n := len(x.Later.title); n > headlineMost {
		t.Errorf("%d tokens of the headline", n)
	}
}

// TestWordWork: a text of figures and signs that is one word is not copied at each of its places.
func TestWordWork(t *testing.T) {
	text := func(seed uint64) *Doc {
		r := rand.New(rand.NewPCG(seed, 7))
		var b strings.Builder
		for i := 0; b.Len() < 200<<10; i++ {
			fmt.Fprintf(&b, "-ab%d", i)
			if i%16 == 0 {
				fmt.Fprint(&b, r.IntN(1e3))
			}
		}
		return NewDoc(&Text{Body: b.String()[1:], Words: []int32{0}})
	}
	var before, after runtime.MemStats
	x := Align(text(1), text(2))
	runtime.ReadMemStats(&before)
	g := x.Agreement()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; g.sought >= 0 || n > 4<<20 {
		t.Errorf("%d bytes allocated, %d may still be sought", n, g.sought)
	}
}

// TestBudgets: each work budget of the policy bounds what is searched.
func TestBudgets(t *testing.T) {
	text := func(seed uint64) *Doc {
		same, own := rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(seed, 7))
		again := []string{bounded(same, 8), bounded(same, 9), bounded(same, 10)}
		var b strings.Builder
		for range 30 { // names at places in common
			b.WriteString(bounded(same, 8) + bounded(own, 2))
		}
		for range 30 { // quantities
			b.WriteString(bounded(same, 8) + fmt.Sprint(own.IntN(1e6)) + "元")
		}
		for range 30 { // passages that each text repeats in an order of its own
			b.WriteString(bounded(same, 8) + again[own.IntN(3)] + bounded(own, 1) + "的" + bounded(own, 1))
		}
		return NewDoc(&Text{Body: b.String(), Words: unlisted(b.Len() / 3)})
	}
	for name, of := range map[string]func(l *Limits) *int{
		"offsets":      func(l *Limits) *int { return &l.Offsets },
		"gap_pairs":    func(l *Limits) *int { return &l.GapPairs },
		"pairs":        func(l *Limits) *int { return &l.Pairs },
		"sought_bytes": func(l *Limits) *int { return &l.Sought },
	} {
		found := func(budget int) string {
			l := DefaultLimits()
			*of(&l) = budget
			x := align(text(1), text(2), &l)
			return fmt.Sprint(x.Matches, len(x.Agreement().Conflicts))
		}
		if found(1) == found(1<<20) {
			t.Errorf("%s: a budget of 1 changes nothing", name)
		}
	}
}

// TestNewsWork: a clause that the earlier text has at another place is not new, as far as the budget reaches; beyond it
// a clause is new, and the text no copy.
func TestNewsWork(t *testing.T) {
	later, earlier := NewDoc(&Text{Body: "山川河湖\n春夏秋冬\n东南西北"}), NewDoc(&Text{Body: "东南西北\n春夏秋冬\n山川河湖"})
	l := DefaultLimits()
	x := align(later, earlier, &l)
	x.Later.run = make([]int32, len(later.tokens)) // nothing is in a run in common
	for budget, want := range map[int]int{3 * len(earlier.Form): 0, 2 * len(earlier.Form): 4, 0: 12} {
		if n := x.Later.news(earlier, budget).Characters; n != want {
			t.Errorf("a budget of %d bytes: %d new characters, want %d", budget, n, want)
		}
	}
}
