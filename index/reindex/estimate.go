package reindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"jianguo/index/resident"
	"jianguo/internal/must"
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
// a snapshot if there is none yet, and for SQLite's log.
const (
	overlayRowBytes   = 16
	snapshotItemBytes = 100
	logBytes          = 24 << 20
)

// Sample estimates what Run would do. It changes nothing, not even the version of
// the file, and may run beside a service.
func Sample(ctx context.Context, db *sql.DB, cfg Config) (*Estimate, error) {
	cfg.defaults()
	e := &Estimate{Recipe: cfg.Recipe}
	s := &sampling{cfg: cfg, db: db}
	err := must.Catch(func() {
		s.from(ctx, e)
		s.take(ctx, e)
	})
	if err != nil {
		return nil, fmt.Errorf("reindex: %w", err)
	}
	return e, nil
}

// sampling is an estimate under way.
type sampling struct {
	cfg    Config
	db     *sql.DB
	goal   int64 // stamps.number; 0: the catalogue does not know the recipe
	after  uint32
	last   uint32
	rows   int64 // bytes of the rows that the sample would make
	began  time.Time
	counts Overlay
}

// from finds out where Run would begin.
func (s *sampling) from(ctx context.Context, e *Estimate) {
	err := s.db.QueryRowContext(ctx, `SELECT number FROM stamps WHERE kind = 'recipe' AND hash = ?`, s.cfg.Recipe).Scan(&s.goal)
	if !errors.Is(err, sql.ErrNoRows) {
		must.Do(err)
	}
	force, doing := must.Get(stored(ctx, s.db, InForce)), must.Get(stored(ctx, s.db, Underway))
	switch {
	case s.goal != 0 && doing.Recipe == s.goal:
		s.after, e.Resumed = doing.Through, doing.Through
	case s.goal != 0 && force.Recipe == s.goal:
		s.after = force.Through
	}
	if force.Recipe != 0 {
		must.Do(s.db.QueryRowContext(ctx, `SELECT hash FROM stamps WHERE number = ?`, force.Recipe).Scan(&e.Force))
	}
	must.Do(s.db.QueryRowContext(ctx, `SELECT coalesce(max(ordinal), 0) FROM items`).Scan(&s.last))
	e.Items, e.Left = int64(s.last), int64(s.last-min(s.after, s.last))
}

// take makes the forms of a sample, and concludes from it.
func (s *sampling) take(ctx context.Context, e *Estimate) {
	s.began = time.Now()
	for run := range int64(sampleRuns) {
		after, length := s.after+uint32(e.Left*run/sampleRuns), sampleLength
		if e.Left <= sampleRuns*sampleLength {
			length = int(e.Left*(run+1)/sampleRuns - e.Left*run/sampleRuns)
		}
		batch := must.Get(readKept(ctx, s.db, s.goal, after, length))
		must.Do(s.cfg.analyze(ctx, batch))
		e.Sampled += len(batch)
		for i := range batch {
			k := &batch[i]
			if s.counts.count(k, s.goal); k.changed && k.failed == nil {
				s.rows += overlayRowBytes + int64(len(k.made.Exact)+8+len(k.made.Sketch))
			}
		}
	}
	if e.Sampled == 0 {
		return
	}
	all := func(n int64) int64 { return n * e.Left / int64(e.Sampled) }
	e.Other, e.Changed, e.WithoutText = all(s.counts.Items), all(s.counts.Changed), all(s.counts.WithoutText)
	e.Seconds = time.Since(s.began).Seconds() * float64(e.Left) / float64(e.Sampled)
	if e.Other == 0 && e.Sampled == int(e.Left) && e.Force == "" {
		return
	}
	e.Bytes = max(all(s.rows)*5/4-s.free(ctx), 0) + logBytes
	if _, err := os.Stat(filepath.Join(s.cfg.Dir, resident.SnapshotFileName)); errors.Is(err, os.ErrNotExist) {
		e.Bytes += e.Items * snapshotItemBytes
	}
}

// free is what the catalogue's file has free inside.
func (s *sampling) free(ctx context.Context) int64 {
	var pages, size int64
	must.Do(s.db.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&pages))
	must.Do(s.db.QueryRowContext(ctx, `PRAGMA page_size`).Scan(&size))
	return pages * size
}
