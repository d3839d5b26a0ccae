package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"jianguo/compare"
	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/segment"
)

// feedDirectory makes a data directory of documents, which arrive an hour apart: feed DIR FILE
func feedDirectory(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: feed DIR FILE")
	}
	ts.Check(feed(ts.MkAbs(args[0]), ts.ReadFile(args[1])))
}

func feed(dir, docs string) error {
	s, err := segment.New(segment.Config{Data: data.FS})
	if err != nil {
		return err
	}
	x, err := index.Open(context.Background(), index.Config{Dir: dir, Recipe: func() (string, error) { return s.Recipe(), nil }, Normal: func(title, body string) compare.Text {
		return ingest.Normal(s, title, body)
	}})
	if err != nil {
		return err
	}
	var mutations []index.Mutation
	for line := range strings.Lines(docs) {
		var it ingest.Item
		if err := json.Unmarshal([]byte(line), &it); err != nil {
			return err
		}
		a := ingest.Prepare(s, &it)
		a.Packed = index.PackText(it.Body)
		n := len(mutations) + 1
		mutations = append(mutations, index.Mutation{Seq: uint64(n), At: time.Date(2026, 5, 1, n, 0, 0, 0, time.UTC), Article: a})
	}
	if _, err := x.Add(context.Background(), mutations); err != nil {
		return err
	}
	return x.Close()
}
