package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"jianguo/cmd/jianguo-bench/filterbench"
	"jianguo/cmd/jianguo-bench/indexbench"
)

// plotIndex draws inserts a second, and below them look-ups, against the size
// of the index.
func plotIndex(file string, res *indexbench.Result) error {
	var inserts, hamming, margin plotter.XYs
	for _, p := range res.Curve {
		x := float64(p.N) / 1e6
		inserts = append(inserts, plotter.XY{X: x, Y: p.Rate})
		hamming = append(hamming, plotter.XY{X: x, Y: p.HammingP50})
		margin = append(margin, plotter.XY{X: x, Y: p.MarginP50})
	}
	upper, lower := plot.New(), plot.New()
	upper.Title.Text = "Durable inserts, batches of 256, not judged"
	if res.NoCatalogue {
		upper.Title.Text = "Inserts into memory"
	}
	upper.Y.Label.Text, lower.Y.Label.Text = "items a second", "look-up p50, µs"
	lower.X.Label.Text = "items indexed (millions)"
	upper.Y.Min, lower.Y.Min = 0, 0
	lower.Legend.Top, lower.Legend.Left = true, true
	for i, l := range []struct {
		on     *plot.Plot
		name   string
		points plotter.XYs
	}{{upper, "", inserts}, {lower, "hamming", hamming}, {lower, "margin", margin}} {
		line, err := plotter.NewLine(l.points)
		if err != nil {
			return fmt.Errorf("plot %s: %w", file, err)
		}
		line.Color = plotutil.Color(i)
		l.on.Add(plotter.NewGrid(), line)
		if l.name != "" {
			l.on.Legend.Add(l.name, line)
		}
	}
	return saveStacked(file, upper, lower)
}

// saveStacked draws plots one below the other.
func saveStacked(file string, plots ...*plot.Plot) error {
	const width, height = 16 * vg.Centimeter, 8 * vg.Centimeter
	canvas, err := draw.NewFormattedCanvas(width, height*vg.Length(len(plots)), strings.TrimPrefix(filepath.Ext(file), "."))
	if err != nil {
		return fmt.Errorf("plot %s: %w", file, err)
	}
	rows := make([][]*plot.Plot, len(plots))
	for i, p := range plots {
		rows[i] = []*plot.Plot{p}
	}
	tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadY: vg.Centimeter / 2}
	for i, row := range plot.Align(rows, tiles, draw.New(canvas)) {
		plots[i].Draw(row[0])
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return fmt.Errorf("plot %s: %w", file, err)
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// plotLatencies draws latency against quantile, the tail stretched: each step
// to the right is ten times rarer.
func plotLatencies(file string, quantiles []filterbench.Point) error {
	var points plotter.XYs
	for _, q := range quantiles {
		if q.Quantile < 1 {
			points = append(points, plotter.XY{X: -math.Log10(1 - q.Quantile), Y: q.Micros / 1000})
		}
	}
	p := plot.New()
	p.Title.Text = "POST /filter at 70 % of the peak, 10,000 candidates"
	p.X.Label.Text, p.Y.Label.Text = "quantile (1: 90 %, 2: 99 %, 3: 99.9 %)", "milliseconds from when the request was due"
	return saveLine(p, points, file)
}

func saveLine(p *plot.Plot, points plotter.XYs, file string) error {
	line, err := plotter.NewLine(points)
	if err != nil {
		return fmt.Errorf("plot %s: %w", file, err)
	}
	p.Add(plotter.NewGrid(), line)
	if err := p.Save(16*vg.Centimeter, 10*vg.Centimeter, file); err != nil {
		return fmt.Errorf("plot %s: %w", file, err)
	}
	return nil
}
