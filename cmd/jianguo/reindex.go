package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/internal/disk"
	"jianguo/segment"
)

type reindexCmd struct {
	Data    string `help:"The data directory." required:"" placeholder:"DIR"`
	DryRun  bool   `help:"Print how much there is to do and about how long it takes; change nothing. A service may be running."`
	Prepare bool   `help:"Do only the long part, while a service may be running; a later run without this flag switches."`
	JSON    bool   `help:"Print the result as JSON."`
	Batch   int    `help:"Items a transaction." hidden:""`
	segmentFlags
}

// reindexLock keeps a second reindex out of a directory that a service may be using.
const reindexLock = "REINDEX"

// Run brings a data directory to the recipe of this program, dictionary and residue
// list.
func (c *reindexCmd) Run(co *streams) (err error) {
	if _, err := os.Stat(filepath.Join(c.Data, index.FileName)); err != nil {
		return fmt.Errorf("%s is no data directory: %w", c.Data, err)
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	seg, err := newSegmenter(c.segmentFlags)
	if err != nil {
		return err
	}
	cfg := index.ReindexConfig{Dir: c.Data, Recipe: seg.Recipe(), Analyze: analyzer(seg), Batch: c.Batch, Prepare: c.Prepare, Logger: co.log}
	estimate, err := index.EstimateReindex(co.ctx, cfg)
	if err != nil {
		return err
	}
	if c.DryRun {
		return c.print(co, estimate, func() { printEstimate(co, estimate) })
	}
	if err := c.checkSpace(estimate); err != nil {
		return err
	}
	if estimate.Resumed > 0 {
		fmt.Fprintf(co.err, "continues after item %d\n", estimate.Resumed)
	}
	cfg.Progress = co.progress.Rate("reindexing")
	report, err := index.Reindex(co.ctx, cfg)
	if err != nil {
		return fmt.Errorf("not finished; completed work is kept, run it again to continue: %w", err)
	}
	if report.Switched {
		if err := c.settle(co, seg); err != nil {
			return fmt.Errorf("the new fingerprints are in force, but every start rebuilds the resident index until a snapshot can be written: %w", err)
		}
	}
	return c.print(co, report, func() { printReindex(co, report) })
}

// lock locks the directory, or with --prepare only against another reindex.
func (c *reindexCmd) lock() (unlock func() error, err error) {
	if c.DryRun {
		return func() error { return nil }, nil
	}
	own, err := datadir.AcquireFile(c.Data, reindexLock, datadir.Holder{Command: "reindex"})
	if err != nil {
		return nil, err
	}
	if c.Prepare {
		return own.Close, nil
	}
	all, err := datadir.Acquire(c.Data, datadir.Holder{Command: "reindex"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w; while a service runs only --prepare is possible", err), own.Close())
	}
	return func() error { return errors.Join(all.Close(), own.Close()) }, nil
}

// analyzer returns a function that prepares a kept text as ingest does.
func analyzer(seg *segment.Segmenter) func(title, body string, published time.Time) *index.Article {
	texts := sync.Pool{New: func() any { return new(segment.Text) }}
	return func(title, body string, published time.Time) *index.Article {
		text := texts.Get().(*segment.Text)
		defer texts.Put(text)
		it := ingest.Item{Title: title, Body: body}
		if !published.IsZero() {
			it.Published = &published
		}
		return ingest.Prepare(seg, text, &it)
	}
}

// checkSpace returns an error if the disk is too small for the reindex.
func (c *reindexCmd) checkSpace(e *index.ReindexEstimate) error {
	free, err := disk.Disk{Dir: c.Data}.Free()
	if err != nil || free >= uint64(e.Bytes) {
		return err
	}
	return fmt.Errorf("a reindex may take %s more on the disk of %s, and %s are free: make room", mib(e.Bytes), c.Data, mib(int64(free)))
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", (bytes+1<<20-1)>>20) }

// settle rebuilds the resident index and writes its snapshot.
func (c *reindexCmd) settle(co *streams, seg *segment.Segmenter) error {
	x, err := index.Open(co.ctx, index.Config{Dir: c.Data, Logger: co.log, Recipe: func() (string, error) { return seg.Recipe(), nil }, Progress: co.progress.Stages("loading")})
	if err != nil {
		return err
	}
	return errors.Join(x.Snapshot(co.ctx), x.Close())
}

func (c *reindexCmd) print(co *streams, result any, text func()) error {
	if c.JSON {
		return json.NewEncoder(co.out).Encode(result)
	}
	text()
	return nil
}

func printEstimate(co *streams, e *index.ReindexEstimate) {
	about := "about "
	if int64(e.Sampled) == e.Left {
		about = ""
	}
	if e.Other == 0 && about == "" && (e.Force == "" || e.Force == e.Recipe) {
		fmt.Fprintf(co.out, "nothing to do: all %d items are compared by recipe %s\n", e.Items, e.Recipe)
		return
	}
	if e.Resumed > 0 {
		fmt.Fprintf(co.out, "continues after item %d\n", e.Resumed)
	}
	fmt.Fprintf(co.out, "recipe %s: %d of %d items to be looked at, %s%d of them of another recipe\n", e.Recipe, e.Left, e.Items, about, e.Other)
	fmt.Fprintf(co.out, "  %s%d get another fingerprint or sketch\n", about, e.Changed)
	fmt.Fprintf(co.out, "  %s%d have no kept text, and keep their fingerprint\n", about, e.WithoutText)
	fmt.Fprintf(co.out, "  about %s on this machine, %s on the disk at most\n", time.Duration(max(e.Seconds, 1)*float64(time.Second)).Round(time.Second), mib(e.Bytes))
}

func printReindex(co *streams, r *index.ReindexReport) {
	switch {
	case r.Unfinished:
		fmt.Fprintf(co.out, "prepared through item %d: stop the service and run `jianguo reindex` to switch to recipe %s\n", r.Through, r.Recipe)
	case !r.Switched:
		fmt.Fprintf(co.out, "nothing to do: items are compared by recipe %s\n", r.Recipe)
	default:
		fmt.Fprintf(co.out, "items are compared by recipe %s from now on\n", r.Recipe)
	}
	if r.Switched || r.Unfinished {
		fmt.Fprintf(co.out, "  %d of %d items of another recipe have another fingerprint or sketch\n", r.Changed, r.Items)
	}
	if r.WithoutText > 0 {
		fmt.Fprintf(co.out, "  %s without a kept text: they keep their fingerprint, and meet new texts less well\n", plural(int(r.WithoutText), "item"))
	}
	if r.Failed > 0 {
		fmt.Fprintf(co.out, "  %s could not be worked on, and keep theirs too: see the log\n", plural(int(r.Failed), "text"))
	}
	fmt.Fprintf(co.out, "  %d looked at in %.1f s (%.0f/s); verdicts, events and decisions are as they were\n", r.Looked, r.Seconds, float64(r.Looked)/max(r.Seconds, 1e-9))
}
