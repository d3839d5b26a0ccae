package eval

import (
	"cmp"
	"io"
	"slices"

	"jianguo/internal/svg"
)

// Plot draws a chart, as SVG: how many pairs that add nothing a rule rejects, against how many
// that add something it rejects too, over all thresholds of the textbook measures.
func (r *Report) Plot(w io.Writer) error {
	c := svg.Chart{Title: "Rejected: what adds nothing, and what adds something", MaxX: 1, MaxY: 1,
		X: "share of pairs that add nothing, rejected", Y: "share of pairs that add something, rejected"}
	c.Series = []svg.Series{
		{Name: "Hamming distance", Colour: svg.Orange,
			Points: r.curve(func(j *Judged) float64 { return float64(j.Distance) })},
		{Name: "exact Jaccard, 5 characters", Colour: svg.Grey,
			Points: r.curve(func(j *Judged) float64 { return -j.Jaccard })},
	}
	for i, colour := range []string{svg.Blue, svg.Green, svg.Orange, svg.Purple, svg.Grey} {
		c.Series = append(c.Series, svg.Series{Name: rules[i].name, Colour: colour, Marks: true,
			Points: []svg.Point{r.point(rules[i].rejects)}})
	}
	return svg.Write(w, c)
}

// point is where a rule stands.
func (r *Report) point(rejects func(j *Judged) bool) svg.Point {
	var all, rejected [3]int // by adds
	for i := range r.Pairs {
		all[r.Pairs[i].Adds]++
		if rejects(&r.Pairs[i]) {
			rejected[r.Pairs[i].Adds]++
		}
	}
	return svg.Point{X: share(rejected[Nothing], all[Nothing]), Y: share(rejected[Something], all[Something])}
}

// curve is where a measure stands at each of its values; less is more alike.
func (r *Report) curve(value func(*Judged) float64) (out []svg.Point) {
	values := make([]float64, len(r.Pairs))
	for i := range r.Pairs {
		values[i] = value(&r.Pairs[i])
	}
	slices.SortFunc(values, cmp.Compare)
	for _, most := range slices.Compact(values) {
		out = append(out, r.point(func(j *Judged) bool { return value(j) <= most }))
	}
	return out
}
