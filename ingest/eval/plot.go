package eval

import (
	"fmt"
	"image/color"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/segment"
)

// Point is a pair by its two distances.
type Point struct {
	Distance int     `json:"distance"` // bits
	S        float32 `json:"margin"`
}

// Strangers are n pairs of the corpus drawn by seed, the earlier first; hardly
// any of them have to do with each other.
func (b *Bench) Strangers(n int, seed uint64) []Point {
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
		earlier := ingest.Prepare(b.cfg.Segmenter, new(segment.Text), b.items[min(i, k)])
		later := ingest.Prepare(b.cfg.Segmenter, new(segment.Text), b.items[max(i, k)])
		if !earlier.Print.Empty() && !later.Print.Empty() {
			out = append(out, Point{distance(earlier, later), later.Print.S(earlier.Print.Fingerprint)})
		}
	}
	return out
}

// The plot's formats, by what a file's name ends in.
const (
	SVG = "svg"
	PNG = "png"
)

// colours that stay apart for colour-blind readers (Okabe & Ito 2008).
var (
	blue   = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	orange = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	green  = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	purple = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
	grey   = color.RGBA{0x99, 0x99, 0x99, 0xff}
)

// Plot draws, side by side, precision against recall of what is rejected, by
// rule, and the two distances of copies, templates and strangers.
func (r *LabelReport) Plot(w io.Writer, format string, policy *index.Policy, strangers []Point) error {
	curves, err := r.curves()
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	cloud, err := r.cloud(policy, strangers)
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	canvas, err := draw.NewFormattedCanvas(11*vg.Inch, 5*vg.Inch, format)
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	left, right := draw.New(canvas), draw.New(canvas)
	middle := 5.5 * vg.Inch
	curves.Draw(draw.Crop(left, 0, -middle-6, 0, -8))
	cloud.Draw(draw.Crop(right, middle+6, -12, 0, -8))
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

// ticks labels every step from 0.
func ticks(end, step float64) plot.ConstantTicks {
	var out plot.ConstantTicks
	for i := 0; float64(i)*step <= end+step/2; i++ {
		v := float64(i) * step
		out = append(out, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 3, 64)})
	}
	return out
}

// curve is precision against recall over a threshold; less is more alike.
type curve struct {
	name   string
	colour color.Color
	value  func(*Judged) float64
}

func (r *LabelReport) curves() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "Rejected as a copy: precision and recall over thresholds"
	p.X.Label.Text = "recall: share of same that is rejected"
	p.Y.Label.Text = "precision: share of rejected that is same"
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1.02
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(1, .2), ticks(1, .2)
	p.Legend.Left, p.Legend.YOffs, p.Legend.XOffs = true, 6, 6
	p.Add(plotter.NewGrid())
	for _, c := range []curve{
		{"Hamming distance", orange, func(j *Judged) float64 { return float64(j.Distance) }},
		{"S, margin distance", purple, func(j *Judged) float64 { return float64(j.S) }},
		{"exact Jaccard, 5 characters", grey, func(j *Judged) float64 { return -j.Jaccard }},
		{"jianguo's score", blue, func(j *Judged) float64 { return -float64(j.Score) }},
	} {
		line, err := plotter.NewLine(c.points(r.Pairs))
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = c.colour, vg.Points(1.6)
		p.Add(line)
		p.Legend.Add(c.name, line)
	}
	var at plotter.XYs
	for _, x := range r.Rules {
		if x.Name == "jianguo" || x.Name == "hamming ≤ 3" {
			at = append(at, plotter.XY{X: x.SameDuplicate, Y: x.Precision})
		}
	}
	marks, err := plotter.NewScatter(at)
	if err != nil {
		return nil, err
	}
	marks.Shape, marks.Radius, marks.Color = draw.CircleGlyph{}, vg.Points(4), color.Black
	p.Add(marks)
	p.Legend.Add("in force: distance 3 and jianguo", marks)
	return p, nil
}

// points is the curve of a measure over all its thresholds.
func (c *curve) points(judged []Judged) plotter.XYs {
	sorted := slices.Clone(judged)
	slices.SortStableFunc(sorted, func(a, b Judged) int {
		switch x, y := c.value(&a), c.value(&b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	same, all := 0, 0
	for i := range sorted {
		if sorted[i].Label == Same {
			all++
		}
	}
	var out plotter.XYs
	for i := range sorted {
		if sorted[i].Label == Same {
			same++
		}
		// A threshold takes all pairs of one value or none.
		if i+1 < len(sorted) && c.value(&sorted[i]) == c.value(&sorted[i+1]) {
			continue
		}
		out = append(out, plotter.XY{X: share(same, all), Y: share(same, i+1)})
	}
	return out
}

func (r *LabelReport) cloud(policy *index.Policy, strangers []Point) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "Copies flip weak bits, strangers strong ones"
	p.X.Label.Text = "Hamming distance, bits"
	p.Y.Label.Text = "S: squared margins of differing bits"
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 50, 0, 50
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(50, 10), ticks(50, 10)
	p.Legend.Left, p.Legend.Top, p.Legend.XOffs, p.Legend.YOffs = true, true, 40, -4
	p.Add(plotter.NewGrid())
	rng := rand.New(rand.NewPCG(0, 6))
	scatter := func(name string, c color.Color, shape draw.GlyphDrawer, points []Point) error {
		xy := make(plotter.XYs, len(points))
		for i, q := range points {
			// Distances are whole numbers: spread them, so that all are seen.
			xy[i] = plotter.XY{X: float64(q.Distance) + .6*(rng.Float64()-.5), Y: float64(q.S)}
		}
		s, err := plotter.NewScatter(xy)
		if err != nil {
			return err
		}
		s.Color, s.Shape, s.Radius = c, shape, vg.Points(2.2)
		p.Add(s)
		p.Legend.Add(name, s)
		return nil
	}
	of := func(labels ...string) (out []Point) {
		for i := range r.Pairs {
			if j := &r.Pairs[i]; slices.Contains(labels, j.Label) && j.Distance < 64 {
				out = append(out, Point{j.Distance, j.S})
			}
		}
		return out
	}
	if err := scatter("strangers", grey, draw.CrossGlyph{}, strangers); err != nil {
		return nil, err
	}
	if err := scatter("template, different", orange, draw.TriangleGlyph{}, of(Template, Different)); err != nil {
		return nil, err
	}
	if err := scatter("partial, update", green, draw.BoxGlyph{}, of(Partial, Update)); err != nil {
		return nil, err
	}
	if err := scatter("same", blue, draw.CircleGlyph{}, of(Same)); err != nil {
		return nil, err
	}
	for _, l := range []struct {
		name string
		at   plotter.XYs
	}{
		{fmt.Sprintf("distance %d", policy.Distance), plotter.XYs{{X: float64(policy.Distance) + .5, Y: 0}, {X: float64(policy.Distance) + .5, Y: 50}}},
		{fmt.Sprintf("S %g", policy.MaxS), plotter.XYs{{X: 0, Y: float64(policy.MaxS)}, {X: 50, Y: float64(policy.MaxS)}}},
	} {
		line, err := plotter.NewLine(l.at)
		if err != nil {
			return nil, err
		}
		line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		p.Add(line)
		p.Legend.Add(l.name, line)
	}
	return p, nil
}
