package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/ingest/eval"
	"jianguo/internal/datadir"
)

type explainCmd struct {
	A        string `arg:"" help:"An item: an id of --data, a file (JSON or plain text), or - for standard input."`
	B        string `arg:"" help:"A second item: the query. Of two ids the later one is the query."`
	Data     string `help:"A data directory that no service is using, to look ids up in." placeholder:"DIR"`
	JSON     bool   `help:"Print one JSON document."`
	Language string `help:"Language of the reason: ${enum}." enum:"zh,en" default:"zh"`

	// Without it that of the policy that --data records.
	Strictness string `help:"Rejected: ${strictness}." enum:",${levels}" default:""`
	segmentFlags
}

// Run explains how two texts are judged.
func (c *explainCmd) Run(co *streams) error {
	if c.A == "-" && c.B == "-" {
		return errors.New("standard input can be one of the two, not both")
	}
	policy := index.DefaultPolicy()
	earlier, later, err := c.items(co, &policy)
	if err != nil {
		return err
	}
	s, err := c.segmenter()
	if err != nil {
		return err
	}
	x := ingest.Explain(s, policy.At(c.Strictness), c.Language, later, earlier)
	if c.JSON {
		out := json.NewEncoder(co.out)
		out.SetIndent("", " ")
		return out.Encode(x)
	}
	eval.PrintExplanation(co.out, x)
	return nil
}

// items reads both items, the earlier one first, and the policy of the directory.
func (c *explainCmd) items(co *streams, policy *index.Policy) (earlier, later *ingest.Item, err error) {
	if c.Data == "" {
		if earlier, err = readItem(co, c.A); err == nil {
			later, err = readItem(co, c.B)
		}
		return earlier, later, err
	}
	if err := isDataDir(c.Data); err != nil {
		return nil, nil, err
	}
	lock, err := datadir.Acquire(c.Data, datadir.Holder{Command: "explain"})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	x, err := index.Open(co.ctx, index.Config{Dir: c.Data, Offline: true, Logger: co.log,
		Progress: co.progress.stages("explain: loading")})
	if err != nil {
		return nil, nil, err
	}
	*policy = x.Policy()
	earlier, first, err := lookUp(co, x, c.A)
	later, second, err2 := lookUp(co, x, c.B)
	if err := errors.Join(err, err2, x.Close()); err != nil {
		return nil, nil, err
	}
	if first != nil && second != nil && second.Before(first) {
		earlier, later = later, earlier
	}
	return earlier, later, nil
}

// lookUp finds an item by its id, or reads it as a file. The stored item is nil for a
// file.
func lookUp(co *streams, x *index.Index, name string) (*ingest.Item, *index.Item, error) {
	if name == "-" {
		it, err := readItem(co, name)
		return it, nil, err
	}
	stored, err := x.Item(co.ctx, name)
	if errors.Is(err, index.ErrNotFound) {
		if _, statErr := os.Stat(name); statErr == nil {
			it, err := readItem(co, name)
			return it, nil, err
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if stored.Body == nil {
		return nil, nil, fmt.Errorf("the text of %q was not kept: there is nothing to compare", name)
	}
	return &ingest.Item{ID: stored.ID, Title: stored.Title, Body: *stored.Body, Source: stored.Source,
		Published: stored.Published}, stored, nil
}

func readItem(co *streams, name string) (it *ingest.Item, err error) {
	if it, err = readDocument(co, name); err != nil {
		return nil, err
	}
	if it.ID == "" {
		it.ID = name
	}
	return it, nil
}
