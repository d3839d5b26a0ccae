// Package offline opens a catalogue, and reads articles, for commands that are programs of their
// own.
package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/companion"
	"jianguo/internal/jsonl"
	"jianguo/segment"
	"jianguo/sketch"
)

// OpenIndex opens a catalogue that no service uses.
func OpenIndex(co *companion.Streams, dir string, s *segment.Segmenter, cfg index.Config) (*index.Index, error) {
	cfg.Dir, cfg.SweepEvery, cfg.Logger = dir, -1, co.Log
	cfg.Recipe = func() (string, error) { return s.Recipe(), nil }
	cfg.Normal = func(title, body string) sketch.Input {
		return ingest.Normal(s, title, body)
	}
	return index.Open(co.Ctx, cfg)
}

// Document reads an article from a file, "-" for standard input: a JSON object, or else plain text.
func Document(co *companion.Streams, name string) (*ingest.Item, error) {
	r := co.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	it, err := decode(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return it, nil
}

func decode(r io.Reader) (*ingest.Item, error) {
	data, err := io.ReadAll(io.LimitReader(r, jsonl.MaxLine+1))
	if err != nil {
		return nil, err
	}
	if len(data) > jsonl.MaxLine {
		return nil, fmt.Errorf("longer than %d bytes", jsonl.MaxLine)
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return ingest.DecodeDocument(jsonl.Item(trimmed))
	}
	it := &ingest.Item{Body: string(data)}
	return it, it.Validate()
}
