package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/fixture"
)

// feedDirectory makes a data directory of documents, which arrive an hour apart: feed DIR FILE
func feedDirectory(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: feed DIR FILE")
	}
	ts.Check(feed(ts.MkAbs(args[0]), ts.ReadFile(args[1])))
}

func feed(dir, docs string) error {
	s := fixture.Shipped()
	x, err := index.Open(context.Background(), ingest.IndexConfig(s, index.Config{Dir: dir}))
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
		n := len(mutations) + 1
		mutations = append(mutations, index.Mutation{Seq: uint64(n), At: time.Date(2026, 5, 1, n, 0, 0, 0, time.UTC), Article: a})
	}
	if _, err := x.Add(context.Background(), mutations); err != nil {
		return err
	}
	return x.Close()
}
