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

// SweepRow is the effect of one changed number of the policy.
type SweepRow struct {
	Knob    string  `json:"knob"`
	Value   float64 `json:"value"`
	Current bool    `json:"current,omitempty"`
	Rates
	// Of a sample of the corpus, judged again against the items that arrived earlier,
	// as indexed under the policy in force.
	Sampled   int     `json:"sampled"`
	Duplicate float64 `json:"duplicate"`
	Suspect   float64 `json:"suspect"`
}

// repeated is an article that is judged once for each value.
type repeated struct {
	article *index.Article
	at      time.Time
	ordinal uint32 // of the earlier item of a pair, or of the item itself
	label   string // of a pair
}

// Sweep moves each number of the policy alone and judges the pairs, and a sample of the
// corpus drawn by seed, again. The policy in force is restored.
func (b *Bench) Sweep(ctx context.Context, judged []Judged, sampled int, seed uint64) (_ []SweepRow, err error) {
	pairs, items, err := b.repeat(ctx, judged, sampled, seed)
	if err != nil {
		return nil, err
	}
	current, err := b.sweepRow(ctx, b.policy, pairs, items)
	if err != nil {
		return nil, err
	}
	current.Current = true
	var out []SweepRow
	all := numbers(b.policy)
	names := knobs(all)
	for n, name := range names {
		for _, value := range moves(all[name]) {
			row := current
			if value != all[name] {
				p, err := Turn(b.policy, name, value)
				if err != nil {
					continue // outside of the number's bounds
				}
				if row, err = b.sweepRow(ctx, p, pairs, items); err != nil {
					return nil, err
				}
			}
			row.Knob, row.Value = name, value
			out = append(out, row)
		}
		b.cfg.Progress("sweeping", int64(n+1), int64(len(names)))
	}
	return out, nil
}

// repeat prepares the labelled pairs and a sample of the corpus for being judged many times.
func (b *Bench) repeat(ctx context.Context, judged []Judged, sampled int, seed uint64) (pairs, items []repeated, err error) {
	pairs = make([]repeated, len(judged))
	for i := range judged {
		later, k, err := b.item(judged[i].Later)
		if err != nil {
			return nil, nil, err
		}
		ordinal, err := b.exemplar(ctx, judged[i].Earlier)
		if err != nil {
			return nil, nil, err
		}
		pairs[i] = repeated{b.prepare(later), b.arrived[k], ordinal, judged[i].Label}
	}
	return pairs, b.sample(sampled, seed), nil
}

// moves are the values to try: shares move by steps, other numbers by factors.
func moves(v float64) (out []float64) {
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

// sample draws items.
func (b *Bench) sample(n int, seed uint64) []repeated {
	drawn := rand.New(rand.NewPCG(seed, 4)).Perm(len(b.items))
	drawn = drawn[:min(n, len(drawn))]
	out := make([]repeated, len(drawn))
	_ = b.parallel(len(drawn), func(n int) error {
		i := drawn[n]
		// The bench adds every item once: the n-th has the ordinal n.
		out[n] = repeated{article: b.prepare(b.items[i]), at: b.arrived[i], ordinal: uint32(i + 1)}
		return nil
	})
	return out
}

// rejudge judges pairs and a sample by another policy, and restores that in force.
func (b *Bench) rejudge(ctx context.Context, p index.Policy, pairs, items []repeated) (judged []Judged, counts map[index.Verdict]int, err error) {
	if err := b.trial.setPolicy(p); err != nil {
		return nil, nil, err
	}
	defer func() { err = cmp.Or(err, b.trial.setPolicy(b.policy)) }()
	judged = make([]Judged, len(pairs))
	for i := range pairs {
		m, err := b.trial.pair(ctx, pairs[i].article, pairs[i].at, pairs[i].ordinal)
		if err != nil {
			return nil, nil, err
		}
		judged[i] = Judged{Pair: Pair{Label: pairs[i].label}, Verdict: m.Verdict}
	}
	counts = map[index.Verdict]int{}
	for i := range items {
		m, err := b.trial.again(ctx, items[i].article, items[i].at, items[i].ordinal)
		if err != nil {
			return nil, nil, err
		}
		counts[m.Verdict]++
	}
	return judged, counts, nil
}

func (b *Bench) sweepRow(ctx context.Context, p index.Policy, pairs, items []repeated) (SweepRow, error) {
	judged, counts, err := b.rejudge(ctx, p, pairs, items)
	if err != nil {
		return SweepRow{}, err
	}
	return SweepRow{Rates: rates("", judged, ours), Sampled: len(items),
		Duplicate: share(counts[index.Duplicate], len(items)), Suspect: share(counts[index.Suspect], len(items))}, nil
}

// PrintSweep writes a line for each value of each number; the one in force is marked.
func PrintSweep(w io.Writer, rows []SweepRow) {
	fmt.Fprintln(w, "\nWhat moving one number would cost (*: in force)")
	var t table
	t.row("", append(append([]string{""}, rateNames...), "corpus dup", "corpus sus")...)
	last := ""
	for i := range rows {
		r := &rows[i]
		name, value := r.Knob, strconv.FormatFloat(r.Value, 'g', 4, 64)
		if name == last {
			name = ""
		}
		last = r.Knob
		if r.Current {
			value = "*" + value
		}
		t.row(name, append(append([]string{value}, r.cells()...), percent(r.Duplicate, r.Sampled), percent(r.Suspect, r.Sampled))...)
	}
	t.print(w)
}
