package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"

	"jianguo/internal/svg"
)

type plotCmd struct {
	Result *os.File `arg:"" help:"What a bench printed with --json."`
	Chart  string   `arg:"" help:"The chart to write, .svg." placeholder:"FILE.svg"`
}

// Run draws the curve of a result: inserts and look-ups against size (index), or latency against quantile.
func (c *plotCmd) Run() error {
	var res struct {
		Curve  []sizePoint `json:"curve"`
		Ingest []quantile  `json:"verdict_latency"`
		Filter []quantile  `json:"latency_at_70"`
	}
	if err := json.NewDecoder(c.Result).Decode(&res); err != nil {
		return fmt.Errorf("plot %s: %w", c.Result.Name(), err)
	}
	var charts []svg.Chart
	switch {
	case res.Curve != nil:
		charts = sizeCharts(res.Curve)
	case res.Ingest != nil:
		charts = quantileChart("Publish to verdict", res.Ingest)
	case res.Filter != nil:
		charts = quantileChart("POST /filter at 70 % of the peak, 10,000 candidates", res.Filter)
	default:
		return fmt.Errorf("plot %s: no curve in it", c.Result.Name())
	}
	out, err := os.Create(c.Chart)
	if err != nil {
		return err
	}
	if err := svg.Write(out, charts...); err != nil {
		return fmt.Errorf("plot %s: %w", c.Chart, err)
	}
	return out.Close()
}

// sizeCharts are inserts a second, and below them look-ups, against the size of the index.
func sizeCharts(curve []sizePoint) []svg.Chart {
	inserts := svg.Series{Colour: svg.Blue}
	hamming := svg.Series{Name: "hamming", Colour: svg.Orange}
	margin := svg.Series{Name: "margin", Colour: svg.Green}
	for _, p := range curve {
		x := float64(p.N) / 1e6
		inserts.Points = append(inserts.Points, svg.Point{X: x, Y: p.Rate})
		hamming.Points = append(hamming.Points, svg.Point{X: x, Y: p.HammingP50})
		margin.Points = append(margin.Points, svg.Point{X: x, Y: p.MarginP50})
	}
	const size = "items indexed (millions)"
	return []svg.Chart{
		{Title: "Inserts, batches of 256, not judged", X: size, Y: "items a second", Series: []svg.Series{inserts}},
		{Title: "Look-ups", X: size, Y: "look-up p50, µs", Series: []svg.Series{hamming, margin}},
	}
}

// quantileChart is latency against quantile, the tail stretched: each step to the right is ten times rarer.
func quantileChart(title string, curve []quantile) []svg.Chart {
	s := svg.Series{Colour: svg.Blue}
	for _, q := range curve {
		if q.Quantile < 1 {
			s.Points = append(s.Points, svg.Point{X: -math.Log10(1 - q.Quantile), Y: q.Micros / 1000})
		}
	}
	return []svg.Chart{{Title: title, X: "quantile (1: 90 %, 2: 99 %, 3: 99.9 %)",
		Y: "milliseconds from when it was due", Series: []svg.Series{s}}}
}
