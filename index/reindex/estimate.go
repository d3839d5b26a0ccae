package reindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"jianguo/internal/datadir"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Estimate is what a reindex would do, judged by a sample of the versions.
type Estimate struct {
	Recipe string `json:"recipe"`
	Force  string `json:"in_force,omitempty"` // the recipe of an earlier reindex; empty: there was none
	Items  int64  `json:"items"`              // versions in the catalogue
	Left   int64  `json:"left"`               // to be read
	// Of those left, about. Exactly where Sampled = Left.
	Sampled     int     `json:"sampled"`
	Other       int64   `json:"of_another_recipe"`
	Changed     int64   `json:"changed"`
	WithoutText int64   `json:"without_text"`
	Seconds     float64 `json:"seconds"`
	// Memory is how much a running index takes in addition: the second postings.
	Memory int64 `json:"memory"`
	// Bytes is how much the files may grow on the way, with a margin.
	Bytes int64 `json:"bytes"`
	// Resumed is the ordinal after which one goes on that was interrupted.
	Resumed uint32 `json:"resumed,omitempty"`
}

// A sample is so many runs of so many versions that follow each other.
const (
	sampleRuns   = 64
	sampleLength = 32
)

// Disk space that a reindex may need: for each row without its blobs, for each item of
// the snapshot, and for SQLite's log.
const (
	postingBytes      = 49 + 11*9 // of a fingerprint and of its keys (docs/BENCH.md, Memory)
	snapshotItemBytes = 100
	overlayRowBytes   = 16
	logBytes          = 24 << 20
)

// SampleEstimate estimates what a Run would do. It changes nothing, not even the version of
// the file, and may run beside a service.
func SampleEstimate(ctx context.Context, cfg Config) (e *Estimate, err error) {
	path := filepath.Join(cfg.Dir, datadir.Catalogue)
	db, err := sqlite.Open(path, sqlite.Reads, "FULL")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := must.Catch(func() { e = sample(ctx, db, &cfg) }); err != nil {
		return nil, fmt.Errorf("reindex: %s: %w", path, err)
	}
	return e, nil
}

func sample(ctx context.Context, db *sql.DB, cfg *Config) *Estimate {
	e := &Estimate{Recipe: cfg.Recipe}
	var goal int64 // 0: the catalogue does not know the recipe
	force, doing := must.Get(Stored(ctx, db, InForce)), must.Get(Stored(ctx, db, Underway))
	must.Do(db.QueryRowContext(ctx, `SELECT coalesce((SELECT number FROM stamps WHERE kind = 'recipe' AND hash = ?), 0),
		coalesce((SELECT hash FROM stamps WHERE number = ?), ''),
		(SELECT coalesce(max(ordinal), 0) FROM items)`, cfg.Recipe, force.Recipe).Scan(&goal, &e.Force, &e.Items))
	after := uint32(0)
	switch {
	case goal != 0 && doing.Recipe == goal:
		after, e.Resumed = doing.Through, doing.Through
	case goal != 0 && force.Recipe == goal:
		after = force.Through
	}
	e.Left = max(e.Items-int64(after), 0)
	var counts Overlay
	rows, began := 0, time.Now()
	for run := range int64(sampleRuns) {
		from, length := e.Left*run/sampleRuns, sampleLength
		if e.Left <= sampleRuns*sampleLength {
			length = int(e.Left*(run+1)/sampleRuns - from)
		}
		batch := must.Get(cfg.Read(ctx, db, goal, after+uint32(from), length))
		for i := range batch {
			k := &batch[i]
			if counts.Count(k, goal); k.Changed && k.Failed == nil {
				rows += overlayRowBytes + len(k.Made.Exact) + 8 + len(k.Made.Sketch)
			}
		}
		e.Sampled += len(batch)
	}
	all := func(n int64) int64 { return n * e.Left / max(int64(e.Sampled), 1) }
	e.Other, e.Changed, e.WithoutText = all(counts.Items), all(counts.Changed), all(counts.WithoutText)
	e.Memory = e.Changed * postingBytes
	e.Seconds = time.Since(began).Seconds() * float64(all(1000)) / 1000
	if e.Other > 0 || e.Sampled < int(e.Left) || e.Force != "" {
		e.Bytes = all(int64(rows))*5/4 + logBytes + e.Items*snapshotItemBytes
	}
	return e
}
