package main

import (
	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/companion"
	"jianguo/segment"
	"jianguo/sketch"
)

// segmentFlags change the recipe.
type segmentFlags struct {
	UserDict string `help:"More words for the segmenter: word, frequency and part of speech a line." type:"existingfile" placeholder:"FILE"`
	Residue  string `help:"More page residue (share prompts, notices) that carries no weight." type:"existingfile" placeholder:"FILE"`
}

func (f segmentFlags) segmenter() (*segment.Segmenter, error) {
	return segment.New(segment.Config{Data: data.FS, UserDict: f.UserDict, Residue: f.Residue})
}

// openIndex opens a catalogue that no service uses, to look into.
func openIndex(co *companion.Streams, dir string, s *segment.Segmenter, cfg index.Config) (*index.Index, error) {
	cfg.Dir, cfg.Durability, cfg.SweepEvery, cfg.Logger = dir, index.DurabilityRelaxed, -1, co.Log
	cfg.Recipe = func() (string, error) { return s.Recipe(), nil }
	cfg.Normal = func(title, body string) sketch.Input {
		var text segment.Text
		s.Analyze(&text, title, body)
		return ingest.Input(&text)
	}
	return index.Open(co.Ctx, cfg)
}
