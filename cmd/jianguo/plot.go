package main

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	filterbench "jianguo/exposure/bench"
	indexbench "jianguo/index/bench"
)

// plotInserts draws the durable insert rate against the size of the index.
func plotInserts(file string, curve []indexbench.Point) error {
	points := make(plotter.XYs, len(curve))
	for i, p := range curve {
		points[i] = plotter.XY{X: float64(p.N) / 1e6, Y: p.Rate}
	}
	p := plot.New()
	p.Title.Text = "Durable inserts, batches of 256"
	p.X.Label.Text, p.Y.Label.Text = "items indexed (millions)", "items a second"
	p.Y.Min = 0
	return saveLine(p, points, file)
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
