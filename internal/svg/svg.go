// Package svg draws plain charts, lines and marks over two linear axes, as one
// SVG file.
package svg

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
)

// Colours that colour-blind readers can tell apart (Okabe & Ito 2008).
const (
	Blue   = "#0072b2"
	Orange = "#d55e00"
	Green  = "#009e73"
	Purple = "#cc79a7"
	Grey   = "#999999"
	Black  = "#000000"
)

// circle marks a single point.
const circle = "m-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0"

// Point is a place in a chart.
type Point struct{ X, Y float64 }

// Series is a line through points in order, or a circle at each of them.
type Series struct {
	Name   string // empty: not in the legend
	Colour string
	Marks  bool // circles, no line
	Points []Point
}

// Chart is one pair of axes, both from 0.
type Chart struct {
	Title, X, Y string
	MaxX, MaxY  float64 // ends of the axes; 0: from the points
	Series      []Series
}

// Size of a chart and the margins around its axes, in pixels.
const (
	width, height            = 540, 380
	left, right, top, bottom = 60, 20, 30, 45
	legendLine               = 17
)

// Write writes charts, one below the other.
func Write(w io.Writer, charts ...Chart) error {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`font-family="sans-serif" font-size="12">`+"\n"+
		`<rect width="100%%" height="100%%" fill="white"/>`+"\n", width, height*len(charts))
	for i := range charts {
		fmt.Fprintf(&b, `<g transform="translate(0,%d)">`+"\n", i*height)
		charts[i].draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *Chart) draw(b *strings.Builder) {
	maxX, maxY := c.MaxX, c.MaxY
	for _, s := range c.Series {
		for _, p := range s.Points {
			if c.MaxX == 0 {
				maxX = max(maxX, p.X)
			}
			if c.MaxY == 0 {
				maxY = max(maxY, p.Y)
			}
		}
	}
	x := func(v float64) float64 { return left + v/max(maxX, 1e-9)*(width-left-right) }
	y := func(v float64) float64 { return height - bottom - v/max(maxY, 1e-9)*(height-top-bottom) }
	text := func(x, y float64, anchor, more, s string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n",
			x, y, anchor, more, html.EscapeString(s))
	}
	for _, v := range ticks(maxX) {
		fmt.Fprintf(b, `<path d="M%.1f,%.1fV%.1f" stroke="#ddd"/>`+"\n", x(v), y(0), y(maxY))
		text(x(v), y(0)+16, "middle", "", number(v))
	}
	for _, v := range ticks(maxY) {
		fmt.Fprintf(b, `<path d="M%.1f,%.1fH%.1f" stroke="#ddd"/>`+"\n", x(0), y(v), x(maxX))
		text(x(0)-6, y(v)+4, "end", "", number(v))
	}
	text(width/2, 18, "middle", ` font-size="14"`, c.Title)
	text(width/2, height-8, "middle", "", c.X)
	text(14, height/2, "middle", fmt.Sprintf(` transform="rotate(-90 14 %d)"`, height/2), c.Y)
	legend := float64(top + legendLine)
	for _, s := range c.Series {
		s.path(b, s.Points, x, y)
		if s.Name == "" {
			continue
		}
		key := []Point{{left + 55, legend - 4}, {left + 75, legend - 4}}
		if s.Marks {
			key = []Point{{left + 65, legend - 4}}
		}
		same := func(v float64) float64 { return v }
		s.path(b, key, same, same)
		text(left+83, legend, "start", "", s.Name)
		legend += legendLine
	}
}

// path draws the series as one path. Points outside of the axes are left out.
func (s *Series) path(b *strings.Builder, points []Point, x, y func(float64) float64) {
	var d strings.Builder
	style := fmt.Sprintf(`fill="none" stroke=%q`, s.Colour)
	if s.Marks {
		style = fmt.Sprintf(`fill=%q`, s.Colour)
	}
	for i, p := range points {
		px, py := x(p.X), y(p.Y)
		switch {
		case s.Marks && (py < top || px > width-right):
		case s.Marks:
			fmt.Fprintf(&d, "M%.1f,%.1f%s", px, py, circle)
		case i > 0:
			fmt.Fprintf(&d, "L%.1f,%.1f", px, py)
		default:
			fmt.Fprintf(&d, "M%.1f,%.1f", px, py)
		}
	}
	fmt.Fprintf(b, `<path d="%s" %s/>`+"\n", d.String(), style)
}

// ticks returns two to ten round values from 0 to end.
func ticks(end float64) (out []float64) {
	step := math.Pow(10, math.Floor(math.Log10(max(end, 1e-9))))
	if end/step < 2 {
		step /= 5
	}
	for i := 0; float64(i)*step <= end*1.0001; i++ {
		out = append(out, float64(i)*step)
	}
	return out
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
