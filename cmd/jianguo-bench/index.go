package main

import (
	"encoding/json"
	"fmt"

	"jianguo/cmd/jianguo-bench/indexbench"
	"jianguo/data"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/internal/jsonl"
	"jianguo/segment"
	"jianguo/simhash"
)

type indexCmd struct {
	N           uint64 `short:"n" help:"How many items." default:"1000000"`
	Real        string `help:"Perturb the fingerprints of these articles instead of random ones: a file of JSON lines, plain or .gz." type:"existingfile" placeholder:"FILE"`
	Dir         string `help:"Keep the index here; empty: a temporary directory, removed at the end." placeholder:"DIR"`
	NoCatalogue bool   `help:"Fingerprint postings and their snapshot only; the default from 20 million items."`
	Catalogue   bool   `help:"Include the catalogue at any size: about 350 bytes an item on disk." xor:"catalogue"`
	Resume      bool   `help:"Continue with the index of an earlier run in --dir: only the missing items are inserted."`
	NoBaselines bool   `help:"Leave out the linear scan and the SQLite rows."`
	Judged      uint64 `help:"Number of items, the last ones, that are inserted with judging; 0: 20,000, at most a tenth."`
	Queries     int    `help:"Look-ups of each kind." default:"2000"`
	Rows        int    `help:"Items of the baseline in SQLite rows, at most." default:"1000000"`
	JSON        bool   `help:"Print one line of JSON."`
	Plot        string `help:"Draw inserts a second and look-ups against size to this file, .svg." placeholder:"FILE"`
	segmentFlags
}

// Help explains the rates.
func (c *indexCmd) Help() string {
	return `inserts_per_second is the durable insert: row, sketch, event, postings and look-ups of an item whose verdict is known, in
batches of 256, each committed with synchronous=FULL, while snapshots are written. judged_inserts_per_second also includes making
the verdict, on the last items. The time to generate the items is in neither. Without a catalogue there is only
resident_inserts_per_second: postings in memory.`
}

// withoutCatalogue is the size from which the catalogue is left out.
const withoutCatalogue = 20_000_000

// Run builds and measures an index.
func (c *indexCmd) Run(co *streams) error {
	real, err := c.fingerprints(co)
	if err != nil {
		return err
	}
	if c.Dir != "" {
		lock, err := datadir.Acquire(c.Dir, datadir.Holder{Command: "bench"})
		if err != nil {
			return err
		}
		defer lock.Close()
	}
	bare := c.NoCatalogue || c.N >= withoutCatalogue && !c.Catalogue
	if bare && !c.NoCatalogue {
		fmt.Fprintf(co.err, "from %d items on the catalogue is left out; --catalogue keeps it\n", withoutCatalogue)
	}
	res, err := indexbench.Run(co.ctx, indexbench.Options{N: c.N, Real: real, Dir: c.Dir, NoCatalogue: bare, Resume: c.Resume, NoBaselines: c.NoBaselines,
		Judged: c.Judged, Queries: c.Queries, Rows: c.Rows, Seed: 1, Progress: co.progress.Stages("bench")})
	if err != nil {
		return err
	}
	if c.Plot != "" {
		if err := plotIndex(c.Plot, res); err != nil {
			return err
		}
	}
	if c.JSON {
		return json.NewEncoder(co.out).Encode(res)
	}
	return res.Print(co.out)
}

// fingerprints computes the fingerprints of the articles in a file.
func (c *indexCmd) fingerprints(co *streams) ([]simhash.Fingerprint, error) {
	if c.Real == "" {
		return nil, nil
	}
	s, err := segment.New(segment.Config{Data: data.FS, UserDict: c.UserDict, Residue: c.Residue})
	if err != nil {
		return nil, err
	}
	var all []simhash.Fingerprint
	var text segment.Text
	err = jsonl.Read(co.in, c.Real, func(number int, line []byte) error {
		it, err := ingest.DecodeDocument(jsonl.Item(line))
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", c.Real, number, err)
		}
		s.Analyze(&text, it.Title, it.Body)
		if p := ingest.Fingerprint(&text); !p.Empty() {
			all = append(all, p.Fingerprint)
		}
		return nil
	})
	return all, err
}
