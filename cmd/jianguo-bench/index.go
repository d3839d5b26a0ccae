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
	Real        string `help:"Perturb the fingerprints of these articles instead of random ones: JSON lines, maybe gzipped." type:"existingfile" placeholder:"FILE"`
	Dir         string `help:"Keep the index here; empty: a temporary directory, removed at the end." placeholder:"DIR"`
	NoCatalogue bool   `help:"Fingerprint postings and their snapshot only. So from 20 million items on, which it says."`
	Catalogue   bool   `help:"The catalogue too, at any size: about 350 bytes an item on disk." xor:"catalogue"`
	Resume      bool   `help:"Go on with what a former run left in --dir: only what is missing of N is inserted."`
	NoBaselines bool   `help:"Leave out the linear scan and the SQLite rows."`
	Judged      uint64 `help:"How many items, the last ones, are inserted with judging; 0: 20,000, at most a tenth."`
	Queries     int    `help:"Look-ups of each kind." default:"2000"`
	Rows        int    `help:"Items of the baseline in SQLite rows, at most." default:"1000000"`
	JSON        bool   `help:"Print one line of JSON."`
	Plot        string `help:"Draw inserts a second and look-ups against size to this file, .svg." placeholder:"FILE"`
	segmentFlags
}

// Help says what the rates are.
func (c *indexCmd) Help() string {
	return `inserts_per_second is the durable insert: row, sketch, event, postings and look-ups of an item whose verdict is known, in
batches of 256, each committed with synchronous=FULL, snapshots written meanwhile. judged_inserts_per_second is the same with
the verdict made, on the last items. Time to make up the items is in neither. Without a catalogue there is only
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

// fingerprints are those of a file's articles.
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
