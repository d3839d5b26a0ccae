package eval

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"jianguo/index"
	"jianguo/internal/svg"
)

// Point is a pair by its two distances.
type Point struct {
	Distance int     `json:"distance"` // bits
	S        float32 `json:"margin"`
}

// Unrelated draws n pairs of the corpus by seed, the earlier item first. Almost all of
// them are unrelated.
func (b *Bench) Unrelated(n int, seed uint64) []Point {
	if len(b.items) < 2 {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, 5))
	var out []Point
	for range n {
		i, k := rng.IntN(len(b.items)), rng.IntN(len(b.items)-1)
		if k >= i {
			k++
		}
		earlier, later := b.prepare(b.items[min(i, k)]), b.prepare(b.items[max(i, k)])
		if !earlier.Print.Empty() && !later.Print.Empty() {
			out = append(out, Point{distance(earlier, later), later.Print.S(earlier.Print.Fingerprint)})
		}
	}
	return out
}

// Plot draws two charts side by side, as SVG: precision against recall of the rejections
// of each rule, and the two distances of copies, templates and unrelated pairs.
func (r *LabelReport) Plot(w io.Writer, policy *index.Policy, unrelated []Point) error {
	return svg.Write(w, true, r.curves(), r.distances(policy, unrelated))
}

// curves are precision against recall over all thresholds of each measure.
func (r *LabelReport) curves() svg.Chart {
	c := svg.Chart{Title: "Rejected as a copy: precision and recall over thresholds", X: "recall: share of same that is rejected",
		Y: "precision: share of rejected that is same", MaxX: 1, MaxY: 1, LegendBelow: true,
		Series: []svg.Series{
			{Name: "Hamming distance", Colour: svg.Orange, Points: r.curve(func(j *Judged) float64 { return float64(j.Distance) })},
			{Name: "S, margin distance", Colour: svg.Purple, Points: r.curve(func(j *Judged) float64 { return float64(j.S) })},
			{Name: "exact Jaccard, 5 characters", Colour: svg.Grey, Points: r.curve(func(j *Judged) float64 { return -j.Jaccard })},
			{Name: "jianguo's score", Colour: svg.Blue, Points: r.curve(func(j *Judged) float64 { return -float64(j.Score) })},
		}}
	var inForce []svg.Point
	for _, x := range r.Rules {
		if x.Name == "jianguo" || x.Name == "hamming ≤ 3" {
			inForce = append(inForce, svg.Point{X: x.SameDuplicate, Y: x.Precision})
		}
	}
	c.Series = append(c.Series, svg.Series{Name: "in force: distance 3 and jianguo", Colour: svg.Black, Mark: svg.Circle, Points: inForce})
	return c
}

// curve is precision against recall of a measure; less is more alike.
func (r *LabelReport) curve(value func(*Judged) float64) (out []svg.Point) {
	sorted := slices.Clone(r.Pairs)
	slices.SortStableFunc(sorted, func(a, b Judged) int { return cmp.Compare(value(&a), value(&b)) })
	all := 0
	for i := range sorted {
		if sorted[i].Label == Same {
			all++
		}
	}
	same := 0
	for i := range sorted {
		if sorted[i].Label == Same {
			same++
		}
		// A threshold takes all pairs of one value or none.
		if i+1 == len(sorted) || value(&sorted[i]) != value(&sorted[i+1]) {
			out = append(out, svg.Point{X: share(same, all), Y: share(same, i+1)})
		}
	}
	return out
}

// distances are pairs by Hamming distance and S.
func (r *LabelReport) distances(policy *index.Policy, unrelated []Point) svg.Chart {
	const end = 50
	rng := rand.New(rand.NewPCG(0, 6))
	marks := func(name, colour, mark string, points []Point) svg.Series {
		s := svg.Series{Name: name, Colour: colour, Mark: mark}
		for _, p := range points {
			// Distances are whole numbers: spread them, so that all are seen.
			s.Points = append(s.Points, svg.Point{X: float64(p.Distance) + .6*(rng.Float64()-.5), Y: float64(p.S)})
		}
		return s
	}
	of := func(labels ...string) (out []Point) {
		for i := range r.Pairs {
			if j := &r.Pairs[i]; slices.Contains(labels, j.Label) && j.Distance < 64 {
				out = append(out, Point{j.Distance, j.S})
			}
		}
		return out
	}
	bits, s := float64(policy.Distance)+.5, float64(policy.MaxS)
	return svg.Chart{Title: "Copies flip weak bits, unrelated texts strong ones", X: "Hamming distance, bits",
		Y: "S: squared margins of differing bits", MaxX: end, MaxY: end,
		Series: []svg.Series{
			marks("unrelated", svg.Grey, svg.Cross, unrelated),
			marks("template, different", svg.Orange, svg.Triangle, of(Template, Different)),
			marks("partial, update", svg.Green, svg.Square, of(Partial, Update)),
			marks("same", svg.Blue, svg.Circle, of(Same)),
			{Name: fmt.Sprintf("distance %d", policy.Distance), Colour: svg.Black, Dashed: true, Points: []svg.Point{{X: bits, Y: 0}, {X: bits, Y: end}}},
			{Name: fmt.Sprintf("S %g", s), Colour: svg.Black, Dashed: true, Points: []svg.Point{{X: 0, Y: s}, {X: end, Y: s}}},
		}}
}
