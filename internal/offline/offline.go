// Package offline opens a catalogue for commands that are programs of their own.
package offline

import (
	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/companion"
	"jianguo/segment"
	"jianguo/sketch"
)

// SegmentFlags change the recipe.
type SegmentFlags struct {
	UserDict string `help:"More words for the segmenter: word, frequency and part of speech a line." type:"existingfile" placeholder:"FILE"`
	Residue  string `help:"More page residue (share prompts, notices) that carries no weight." type:"existingfile" placeholder:"FILE"`
}

// Segmenter loads the dictionaries.
func (f SegmentFlags) Segmenter() (*segment.Segmenter, error) {
	return segment.New(segment.Config{Data: data.FS, UserDict: f.UserDict, Residue: f.Residue})
}

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
