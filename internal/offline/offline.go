// Package offline opens a catalogue for commands that are programs of their own.
package offline

import (
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/companion"
	"jianguo/segment"
	"jianguo/sketch"
)

// OpenIndex opens a catalogue that no service uses.
func OpenIndex(co *companion.Streams, dir string, s *segment.Segmenter, cfg index.Config) (*index.Index, error) {
	cfg.Dir, cfg.SweepEvery, cfg.Logger = dir, -1, co.Log
	cfg.Recipe = func() (string, error) { return s.Recipe(), nil }
	cfg.Normal = func(title, body string) sketch.Input {
		var text segment.Text
		s.Analyze(&text, title, body)
		return ingest.Input(&text)
	}
	return index.Open(co.Ctx, cfg)
}
