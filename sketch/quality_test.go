//go:build quality

// The quality test fits the judge's weights to labelled pairs and shows what
// they are worth on pairs that they were not fitted to:
//
//	JIANGUO_CORPUS=… go test -tags quality -run TestQuality -v ./sketch
//
// -update writes weights.go. testdata/README.md says which pairs there are.
package sketch_test

import (
	"flag"
	"fmt"
	"go/format"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"jianguo/sketch"
)

var (
	update  = flag.Bool("update", false, "write weights.go")
	repeats = flag.Int("repeats", 20, "how often the pairs are divided into new folds")
)

const folds = 10

// partMost is what share of the texts that add something may be duplicates when the
// threshold of a fold is chosen on the other folds.
const partMost = .115

// model is one logistic score.
type model struct {
	name, doc string
	exact     bool
	clues     []sketch.Clue
	positive  map[string]bool
}

var (
	copies        = map[string]bool{"same": true, "contained": true}
	stories       = map[string]bool{"same": true, "partial": true, "update": true}
	copyClues     = []sketch.Clue{sketch.Conflicts, sketch.Shared, sketch.Head, sketch.Titled, sketch.Label, sketch.Words, sketch.Subjects, sketch.Apart, sketch.AddsFigures, sketch.AddsNames, sketch.AddsUnknown, sketch.AddsMatter}
	storyClues    = []sketch.Clue{sketch.SoftMost, sketch.Conflicts, sketch.Agreed, sketch.Overhang, sketch.Novel, sketch.Subjects, sketch.Topic, sketch.Words, sketch.Label, sketch.Apart}
	estimated     = clues(0, sketch.Resembles+1, nil)
	copyEstimated = append(clues(0, sketch.Resembles+1, nil), sketch.Known, sketch.AddsFigures)
	models        = []model{
		{"copyWeights", "is it the same article, measured on texts", true, copyClues, copies},
		{"storyWeights", "is it the same story, measured on texts", true, storyClues, stories},
		{"copySketchWeights", "is it the same article, estimated from sketches", false, copyEstimated, copies},
		{"storySketchWeights", "is it the same story, estimated from sketches", false, estimated, stories},
	}
)

func clues(from, to sketch.Clue, without []sketch.Clue) (c []sketch.Clue) {
	for i := from; i < to; i++ {
		if !slices.Contains(without, i) {
			c = append(c, i)
		}
	}
	return c
}

// fitted are the weights of a model for those pairs. A pair counts half with
// its times and half without: many texts come without, and must be judged as
// well.
func (m *model) fitted(pairs []pair, in func(i int) bool) sketch.Weights {
	var x [][]float64
	var y, weight []float64
	for i := range pairs {
		if !in(i) {
			continue
		}
		p := &pairs[i]
		is := 0.
		if m.positive[p.label] || m.positive["same"] && len(m.positive) == 2 && m.positive[p.novelty] {
			is = 1
		}
		if len(m.positive) == 2 && !m.positive[p.novelty] {
			is = 0
		}
		add := func(e *sketch.Evidence, w float64) {
			row := make([]float64, len(m.clues))
			for j, c := range m.clues {
				row[j] = e[c]
			}
			x, y, weight = append(x, row), append(y, is), append(weight, w)
		}
		e := p.evidence(m.exact)
		if !m.exact || e[sketch.Apart] == 0 {
			add(e, p.weight)
			continue
		}
		add(e, p.weight/2)
		add(&p.timeless, p.weight/2)
	}
	w := fit(x, y, weight)
	out := sketch.Weights{Bias: w[0]}
	for j, c := range m.clues {
		out.Of[c] = w[j+1]
	}
	return out
}

func TestQuality(t *testing.T) {
	dir := os.Getenv("JIANGUO_CORPUS")
	if dir == "" {
		t.Fatal("JIANGUO_CORPUS must name the folder of the real corpus")
	}
	pairs := collect(t, dir)
	agreement(t, pairs)
	crossValidate(t, pairs)
	t.Logf("\ntrained on one part, judged on another, thresholds as shipped")
	across(t, pairs, "given pairs, trained without any of them", func(p *pair) bool { return !p.given }, func(p *pair) bool { return p.given })
	across(t, pairs, "new pairs, trained on the given ones", func(p *pair) bool { return p.given || p.weak }, func(p *pair) bool { return !p.given && !p.weak })
	all := func(int) bool { return true }
	var out strings.Builder
	out.WriteString("package sketch\n")
	for _, m := range models {
		w := m.fitted(pairs, all)
		fmt.Fprintf(&out, "\n// %s: %s.\nvar %s = Weights{Bias: %.2f, Of: Evidence{\n", m.name, m.doc, m.name, w.Bias)
		for _, c := range m.clues {
			fmt.Fprintf(&out, "%v: %.2f,\n", c, w.Of[c])
		}
		out.WriteString("}}\n")
	}
	shipped(t, pairs)
	if *update {
		source, err := format.Source([]byte(out.String()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("weights.go", source, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// agreement says how the two readings of a pair labelled twice go together.
func agreement(t *testing.T, pairs []pair) {
	count := map[string]int{}
	for i := range pairs {
		if p := &pairs[i]; p.again != "" {
			count[fmt.Sprintf("%s (%s) read again as %s", p.label, p.confidence, p.again)]++
		}
	}
	keys := make([]string, 0, len(count))
	for k := range count {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		t.Logf("%3d %s", count[k], k)
	}
}

// scores are held-out scores by pair.
type scores struct{ copies, stories []float64 }

// crossValidate divides the pairs into folds again and again, scores each fold
// with weights fitted to the others, and chooses the threshold of each on the
// held-out scores of the others.
func crossValidate(t *testing.T, pairs []pair) {
	rounds := make([]scores, *repeats)
	divided := make([][]int, *repeats)
	var wait sync.WaitGroup
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	for r := range rounds {
		rounds[r] = scores{make([]float64, len(pairs)), make([]float64, len(pairs))}
		divided[r] = divide(pairs, uint64(r))
		for f := range folds {
			room <- struct{}{}
			wait.Go(func() {
				defer func() { <-room }()
				train := func(i int) bool { return divided[r][i] != f }
				copies, stories := models[0].fitted(pairs, train), models[1].fitted(pairs, train)
				for i := range pairs {
					if !train(i) {
						e := pairs[i].evidence(true)
						rounds[r].copies[i], rounds[r].stories[i] = copies.Score(e), stories.Score(e)
					}
				}
			})
		}
	}
	wait.Wait()
	t.Logf("\n%d × %d folds: each pair judged with weights that were not fitted to it; duplicate / duplicate or suspect", *repeats, folds)
	for _, set := range sets {
		for _, at := range []float64{.49, .6, .65, .72} {
			var sum table
			for r := range rounds {
				for i := range pairs {
					if pairs[i].set == set {
						th := sketch.DefaultThresholds()
						th.Duplicate, th.DuplicateShort = at, at
						sum.add(&pairs[i], verdict(&pairs[i], th, rounds[r].copies[i], rounds[r].stories[i]))
					}
				}
			}
			t.Logf("  %-10s from %.2f  %v", set, at, &sum)
		}
	}
	var given, all table
	for r := range rounds {
		for f := range folds {
			th := sketch.DefaultThresholds()
			th.Duplicate = chosen(pairs, rounds[r].copies, func(i int) bool { return divided[r][i] != f })
			for i := range pairs {
				if divided[r][i] == f && pairs[i].news() {
					kind := verdict(&pairs[i], th, rounds[r].copies[i], rounds[r].stories[i])
					all.add(&pairs[i], kind)
					if pairs[i].given {
						given.add(&pairs[i], kind)
					}
				}
			}
		}
	}
	t.Logf("  news, threshold chosen on the other folds (parts ≤ %.1f %%): given %v", 100*partMost, &given)
	t.Logf("  news, threshold chosen on the other folds (parts ≤ %.1f %%): all   %v", 100*partMost, &all)
}

// divide deals the pairs of each set and label to the folds.
func divide(pairs []pair, seed uint64) []int {
	groups := map[string][]int{}
	for i := range pairs {
		k := pairs[i].set + " " + pairs[i].label
		groups[k] = append(groups[k], i)
	}
	keys := make([]string, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	rng := rand.New(rand.NewPCG(seed, 1))
	fold, n := make([]int, len(pairs)), 0
	for _, k := range keys {
		g := groups[k]
		rng.Shuffle(len(g), func(i, j int) { g[i], g[j] = g[j], g[i] })
		for _, i := range g {
			fold[i] = n % folds
			n++
		}
	}
	return fold
}

// chosen is the least threshold at which not too many parts of news are
// duplicates.
func chosen(pairs []pair, copies []float64, in func(i int) bool) float64 {
	var parts []float64
	for i := range pairs {
		if p := &pairs[i]; in(i) && p.news() && adds[p.novelty] {
			parts = append(parts, copies[i])
		}
	}
	slices.Sort(parts)
	return parts[len(parts)-1-int(partMost*float64(len(parts)))] + 1e-9
}

// verdict is the shipped rule with other scores: weights of nothing but a bias.
func verdict(p *pair, th sketch.Thresholds, copies, stories float64) sketch.Kind {
	logit := func(p float64) float64 { return math.Log(p / (1 - p)) }
	th.Copy, th.Story = sketch.Weights{Bias: logit(copies)}, sketch.Weights{Bias: logit(stories)}
	return sketch.Judge(p.text, th).Kind
}

// across judges one part of the pairs with weights fitted to another.
func across(t *testing.T, pairs []pair, what string, train, judge func(p *pair) bool) {
	in := func(i int) bool { return train(&pairs[i]) }
	th := sketch.DefaultThresholds()
	th.Copy, th.Story = models[0].fitted(pairs, in), models[1].fitted(pairs, in)
	for _, set := range sets {
		var sum table
		for i := range pairs {
			if p := &pairs[i]; p.set == set && judge(p) {
				sum.add(p, sketch.Judge(p.text, th).Kind)
			}
		}
		if sum.n != [4]int{} {
			t.Logf("  %-42s %-10s %v", what, set, &sum)
		}
	}
}

// shipped prints what the shipped judge says of the labelled pairs, and fails
// where it says much less than it did.
func shipped(t *testing.T, pairs []pair) {
	th := sketch.DefaultThresholds()
	t.Logf("\nthe judge as shipped, on pairs that it was fitted to")
	for _, exact := range []bool{true, false} {
		for _, set := range sets {
			var sum table
			for i := range pairs {
				if p := &pairs[i]; p.set == set {
					sum.add(p, sketch.Judge(*p.comparison(exact), th).Kind)
				}
			}
			t.Logf("  texts %-5v %-10s %v", exact, set, &sum)
			if exact && set == "news" && (sum.duplicate(0) < .9 || sum.duplicate(1) > .015 || sum.duplicate(2) < .9 || sum.duplicate(3) > .1) {
				t.Errorf("%s: %v", set, &sum)
			}
		}
	}
}

// table counts verdicts: of same, of template and different, of partial and
// update.
type table struct{ n, dup, sus [4]int }

var adds = map[string]bool{"extends": true, "overlap": true, "update": true, "roundup": true, "partial": true}

func (s *table) add(p *pair, k sketch.Kind) {
	row := map[string]int{"same": 0, "template": 1, "different": 1, "contained": 2}[p.novelty]
	if adds[p.novelty] {
		row = 3
	}
	s.n[row]++
	switch k {
	case sketch.Duplicate:
		s.dup[row]++
	case sketch.Suspect:
		s.sus[row]++
	}
}

func (s *table) duplicate(row int) float64 { return float64(s.dup[row]) / float64(max(1, s.n[row])) }

func (s *table) String() string {
	var b strings.Builder
	for row, name := range []string{"same", "template, different", "contained", "adds something"} {
		if s.n[row] > 0 {
			fmt.Fprintf(&b, "%s %.1f / %.1f %%   ", name, 100*s.duplicate(row), 100*float64(s.dup[row]+s.sus[row])/float64(s.n[row]))
		}
	}
	return b.String()
}
