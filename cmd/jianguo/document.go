package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/jsonl"
	"jianguo/internal/must"
	"jianguo/segment"
)

// openIndex opens a catalogue that no service uses.
func openIndex(co *stdio, dir string, s *segment.Segmenter, cfg index.Config) (*index.Index, error) {
	cfg.Dir, cfg.SweepEvery, cfg.Logger = dir, -1, co.log
	return index.Open(co.ctx, ingest.IndexConfig(s, cfg))
}

// readDocument reads an article from a file, "-" for standard input: a JSON object if it begins with { or has a name in
// .json, or else plain text. It panics on errors (must).
func readDocument(co *stdio, name string) *ingest.Item {
	r, file := must.Get2(jsonl.Open(co.in, name))
	defer file.Close()
	it, err := decodeDocument(r, strings.HasSuffix(name, ".json"))
	must.Dof(err, "%s", name)
	return it
}

func decodeDocument(r io.Reader, isJSON bool) (*ingest.Item, error) {
	data, err := io.ReadAll(io.LimitReader(r, jsonl.MaxLine+1))
	if err != nil {
		return nil, err
	}
	if len(data) > jsonl.MaxLine {
		return nil, fmt.Errorf("longer than %d bytes", jsonl.MaxLine)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("is not UTF-8")
	}
	if trimmed := bytes.TrimSpace(data); isJSON || bytes.HasPrefix(trimmed, []byte("{")) {
		return ingest.DecodeDocument(jsonl.WithPublishedAt(trimmed))
	}
	it := &ingest.Item{Body: string(data)}
	return it, it.Validate()
}
