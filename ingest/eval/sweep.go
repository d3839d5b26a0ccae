package eval

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"jianguo/index"
)

// SweepRow is what one changed number of the policy would do.
type SweepRow struct {
	Knob    string  `json:"knob"`
	Value   float64 `json:"value"`
	Current bool    `json:"current,omitempty"`
	Rates
	// Of a sample of the corpus, judged again against what had arrived before
	// under the policy in force.
	Sampled   int     `json:"sampled"`
	Duplicate float64 `json:"duplicate"`
	Suspect   float64 `json:"suspect"`
}

// trialPair is a pair that is judged many times.
type trialPair struct {
	article *index.Article
	ordinal uint32
	at      time.Time
	label   string
}

type trialItem struct {
	article *index.Article
	ordinal uint32
	at      time.Time
}

// Sweep moves each number of the policy alone and judges the pairs, and a
// sample of the corpus drawn by seed, again. The policy in force is restored.
func (b *Bench) Sweep(ctx context.Context, judged []Judged, sampled int, seed uint64) (_ []SweepRow, err error) {
	pairs, err := b.trialPairs(ctx, judged)
	if err != nil {
		return nil, err
	}
	items, err := b.trialItems(ctx, sampled, seed)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, b.trial.SetPolicy(b.policy)) }()
	var out []SweepRow
	current, err := b.sweepRow(ctx, b.policy, pairs, items)
	if err != nil {
		return nil, err
	}
	current.Current = true
	all := knobs(b.policy)
	for n, k := range all {
		for _, v := range moves(k.Value) {
			row := current
			if v != k.Value {
				p, err := Turn(b.policy, k.Name, v)
				if err != nil {
					continue // out of the knob's bounds
				}
				if row, err = b.sweepRow(ctx, p, pairs, items); err != nil {
					return nil, err
				}
			}
			row.Knob, row.Value = k.Name, v
			out = append(out, row)
		}
		b.cfg.Progress("sweeping", int64(n+1), int64(len(all)))
	}
	return out, nil
}

// moves are the values to try: shares move by steps, other numbers by factors.
func moves(v float64) []float64 {
	var out []float64
	if v > 0 && v < 1 {
		for _, step := range []float64{-.2, -.1, -.05, 0, .05, .1, .2} {
			if moved := math.Round((v+step)*1000) / 1000; moved > 0 && moved < 1 {
				out = append(out, moved)
			}
		}
		return out
	}
	for _, factor := range []float64{.25, .5, .75, 1, 1.5, 2, 4} {
		out = append(out, math.Round(v*factor))
	}
	return slices.Compact(out)
}

func (b *Bench) trialPairs(ctx context.Context, judged []Judged) ([]trialPair, error) {
	out := make([]trialPair, len(judged))
	for i := range judged {
		later, k, err := b.item(judged[i].Later)
		if err != nil {
			return nil, err
		}
		ordinal, err := b.stand(ctx, judged[i].Earlier)
		if err != nil {
			return nil, err
		}
		out[i] = trialPair{b.prepare(later), ordinal, b.arrived[k], judged[i].Label}
	}
	return out, nil
}

// trialItems draws items, the last to arrive first.
func (b *Bench) trialItems(ctx context.Context, n int, seed uint64) ([]trialItem, error) {
	drawn := rand.New(rand.NewPCG(seed, 4)).Perm(len(b.items))
	drawn = drawn[:min(n, len(drawn))]
	slices.SortFunc(drawn, func(i, k int) int { return k - i })
	out := make([]trialItem, len(drawn))
	return out, parallel(b.cfg.Workers, len(drawn), func(i int) error {
		it := b.items[drawn[i]]
		// The bench adds every item once: the n-th has the ordinal n.
		out[i] = trialItem{b.prepare(it), uint32(drawn[i] + 1), b.arrived[drawn[i]]}
		return ctx.Err()
	})
}

func (b *Bench) sweepRow(ctx context.Context, p index.Policy, pairs []trialPair, items []trialItem) (SweepRow, error) {
	if err := b.trial.SetPolicy(p); err != nil {
		return SweepRow{}, err
	}
	judged := make([]Judged, len(pairs))
	for i := range pairs {
		m, err := b.trial.Pair(ctx, pairs[i].article, pairs[i].at, pairs[i].ordinal)
		if err != nil {
			return SweepRow{}, err
		}
		judged[i] = Judged{Pair: Pair{Label: pairs[i].label}, Verdict: m.Verdict}
	}
	var counts [5]int // by verdict
	b.trial.Rewind()
	for _, it := range items {
		m, err := b.trial.Again(ctx, it.article, it.at, it.ordinal)
		if err != nil {
			return SweepRow{}, err
		}
		counts[m.Verdict]++
	}
	return SweepRow{Rates: rates("", judged, ours), Sampled: len(items),
		Duplicate: share(counts[index.Duplicate], len(items)), Suspect: share(counts[index.Suspect], len(items))}, nil
}

// PrintSweep writes a line for each value of each number; the one in force is
// marked.
func PrintSweep(w io.Writer, rows []SweepRow) {
	fmt.Fprintln(w, "\nWhat moving one number would cost (*: in force)")
	var t table
	t.row("", "", "same → dup", "→ dup/sus", "temp+diff → dup", "→ sus", "part+upd → dup", "→ dup/sus", "corpus dup", "corpus sus")
	last := ""
	for i := range rows {
		r := &rows[i]
		name, mark := r.Knob, ""
		if name == last {
			name = ""
		}
		last = r.Knob
		if r.Current {
			mark = "*"
		}
		t.row(name, mark+strconv.FormatFloat(r.Value, 'g', 4, 64), percent(r.SameDuplicate, r.Same), percent(r.SameCaught, r.Same),
			percent(r.OthersDuplicate, r.Others), percent(r.OthersSuspect, r.Others), percent(r.RelativeDuplicate, r.Relative),
			percent(r.RelativeCaught, r.Relative), percent(r.Duplicate, r.Sampled), percent(r.Suspect, r.Sampled))
	}
	t.print(w)
}
