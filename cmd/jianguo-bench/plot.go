package main

import (
	"bytes"
	"fmt"
	"math"
	"os"

	"jianguo/cmd/jianguo-bench/filterbench"
	"jianguo/cmd/jianguo-bench/indexbench"
	"jianguo/internal/svg"
)

// plotIndex draws inserts a second, and below them look-ups, against the size of
// the index.
func plotIndex(file string, res *indexbench.Result) error {
	title := "Durable inserts, batches of 256, not judged"
	if res.NoCatalogue {
		title = "Inserts into memory"
	}
	inserts, hamming, margin := svg.Series{Colour: svg.Blue}, svg.Series{Name: "hamming", Colour: svg.Orange}, svg.Series{Name: "margin", Colour: svg.Green}
	for _, p := range res.Curve {
		x := float64(p.N) / 1e6
		inserts.Points = append(inserts.Points, svg.Point{X: x, Y: p.Rate})
		hamming.Points = append(hamming.Points, svg.Point{X: x, Y: p.HammingP50})
		margin.Points = append(margin.Points, svg.Point{X: x, Y: p.MarginP50})
	}
	const size = "items indexed (millions)"
	return plot(file, svg.Chart{Title: title, X: size, Y: "items a second", Series: []svg.Series{inserts}},
		svg.Chart{Title: "Look-ups", X: size, Y: "look-up p50, µs", Series: []svg.Series{hamming, margin}})
}

// plotLatencies draws latency against quantile, the tail stretched: each step to
// the right is ten times rarer.
func plotLatencies(file string, quantiles []filterbench.Point) error {
	s := svg.Series{Colour: svg.Blue}
	for _, q := range quantiles {
		if q.Quantile < 1 {
			s.Points = append(s.Points, svg.Point{X: -math.Log10(1 - q.Quantile), Y: q.Micros / 1000})
		}
	}
	return plot(file, svg.Chart{Title: "POST /filter at 70 % of the peak, 10,000 candidates", X: "quantile (1: 90 %, 2: 99 %, 3: 99.9 %)",
		Y: "milliseconds from when the request was due", Series: []svg.Series{s}})
}

func plot(file string, charts ...svg.Chart) error {
	var b bytes.Buffer
	if err := svg.Write(&b, false, charts...); err != nil {
		return fmt.Errorf("plot %s: %w", file, err)
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
