package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/ingest/eval"
	"jianguo/internal/datadir"
	"jianguo/internal/must"
)

type explainCmd struct {
	A        string `arg:"" help:"An item: an id of --data, a file (JSON or plain text), or - for standard input."`
	B        string `arg:"" help:"A second item: the query. Of two ids the later one is the query."`
	Data     string `help:"A data directory that no service is using, to look ids up in." placeholder:"DIR"`
	JSON     bool   `help:"Print one JSON document."`
	Language string `help:"Language of the reason: ${enum}." enum:"zh,en" default:"zh"`

	// Without it that of the policy that --data records, or of the later item's source.
	Strictness string `help:"Rejected: ${strictness}." enum:",${levels}" default:""`
	segmentFlags
}

func (c *explainCmd) Run(co *stdio) error {
	if c.A == "-" && c.B == "-" {
		return errors.New("standard input can be one of the two, not both")
	}
	return must.Catch(func() {
		policy := index.DefaultPolicy()
		earlier, later := c.items(co, &policy)
		x := ingest.Explain(must.Get(c.segmenter()), policy.At(c.Strictness), c.Language, later, earlier)
		if c.JSON {
			co.print(x)
		} else {
			eval.PrintExplanation(co.out, x)
		}
	})
}

// items reads both items, the earlier one first, and the policy of the directory. It panics on errors (must).
func (c *explainCmd) items(co *stdio, policy *index.Policy) (earlier, later *ingest.Item) {
	if c.Data == "" {
		return readItem(co, c.A), readItem(co, c.B)
	}
	must.Do(holding(datadir.Acquire, c.Data, "explain", func() {
		x := must.Get(index.Open(co.ctx, index.Config{Dir: c.Data, Offline: true, Logger: co.log,
			Progress: co.progress.stages("explain: loading")}))
		defer x.Close()
		var first, second *index.Item
		earlier, first = lookUp(co, x, c.A)
		later, second = lookUp(co, x, c.B)
		if first != nil && second != nil && second.Before(first) {
			earlier, later = later, earlier
		}
		*policy = x.PolicyOf(later.Source)
	}))
	return earlier, later
}

// lookUp finds an item by its id, or reads it as a file. The stored item is nil for a
// file. It panics on errors (must).
func lookUp(co *stdio, x *index.Index, name string) (*ingest.Item, *index.Item) {
	stored, err := x.Item(co.ctx, name)
	if _, missing := os.Stat(name); name == "-" || errors.Is(err, index.ErrNotFound) && missing == nil {
		return readItem(co, name), nil
	}
	must.Do(err)
	if stored.Body == nil {
		must.Do(fmt.Errorf("the text of %q was not kept: there is nothing to compare", name))
	}
	return ingest.Stored(stored), stored
}

// readItem reads an article, named as its file where it has no id. It panics on errors (must).
func readItem(co *stdio, name string) *ingest.Item {
	it := readDocument(co, name)
	it.ID = cmp.Or(it.ID, name)
	return it
}
