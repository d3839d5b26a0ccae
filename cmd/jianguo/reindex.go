package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/disk"
	"jianguo/internal/reach"
	"jianguo/segment"
)

type reindexCmd struct {
	Data   string `help:"The data directory; a service may be running on it." required:"" placeholder:"DIR"`
	DryRun bool   `help:"Print how much there is to do and about how long it takes; change nothing."`
	JSON   bool   `help:"Print the result as JSON."`
	segmentFlags
	reach.Access
}

// Run brings a data directory to the recipe of this program, dictionary and residue
// list. A service that runs on the directory does it without a stop.
func (c *reindexCmd) Run(co *streams) (err error) {
	if _, err := os.Stat(filepath.Join(c.Data, index.FileName)); err != nil {
		return fmt.Errorf("%s is no data directory: %w", c.Data, err)
	}
	seg, err := newSegmenter(c.segmentFlags)
	if err != nil {
		return err
	}
	cfg := index.ReindexConfig{Dir: c.Data, Recipe: seg.Recipe(), Analyze: analyzer(seg)}
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
	report, err := c.reindex(co, seg.Recipe())
	if err != nil {
		return err
	}
	return c.print(co, report, func() { printReindex(co, report) })
}

// reindex has the service that runs reindex the directory, or does it in this process.
func (c *reindexCmd) reindex(co *streams, recipe string) (report *index.ReindexReport, err error) {
	where := reach.Flags{Data: c.Data, Access: c.Access}
	conn, done, err := where.Reach(&co.ctx, co.log, func() (*nats.Conn, func() error, error) {
		core, err := openCore(co, coreConfig{Command: "reindex", Data: c.Data, NoBus: true, Segment: c.segmentFlags})
		if err != nil {
			return nil, nil, err
		}
		if report, err = core.reindex(co.ctx, recipe, co.progress.Rate("reindexing")); err != nil {
			err = fmt.Errorf("not finished; completed work is kept, run it again to continue: %w", err)
		}
		return nil, func() error { return nil }, errors.Join(err, core.Close())
	})
	if err != nil {
		return nil, err
	}
	if conn != nil {
		report, err = askToReindex(co, conn, recipe)
	}
	return report, errors.Join(err, done())
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
	fmt.Fprintf(co.out, "  about %s on this machine, %s on the disk at most, %s of memory while it lasts\n", time.Duration(max(e.Seconds, 1)*float64(time.Second)).Round(time.Second), mib(e.Bytes), mib(e.Memory))
}

func printReindex(co *streams, r *index.ReindexReport) {
	if !r.Switched {
		fmt.Fprintf(co.out, "nothing to do: items are compared by recipe %s\n", r.Recipe)
	} else {
		fmt.Fprintf(co.out, "items are compared by recipe %s from now on\n", r.Recipe)
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
