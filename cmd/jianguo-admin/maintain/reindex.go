package maintain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/index/reindex"
	"jianguo/ingest"
	"jianguo/internal/companion"
	"jianguo/internal/datadir"
	"jianguo/internal/disk"
	"jianguo/internal/offline"
	"jianguo/internal/reach"
	"jianguo/internal/settings"
	"jianguo/segment"
)

type reindexCmd struct {
	Data   string `help:"The data directory; a service may be running on it." required:"" placeholder:"DIR"`
	DryRun bool   `help:"Print how much there is to do and about how long it takes; change nothing."`
	JSON   bool   `help:"Print the result as JSON."`
	settings.Segment
	reach.Access
	companion.Flags
}

// Run brings a data directory to the recipe of this program, dictionary and residue
// list. A service that runs on the directory does it without a stop.
func (c *reindexCmd) Run(co *companion.Streams) (err error) {
	if _, err := os.Stat(filepath.Join(c.Data, index.FileName)); err != nil {
		return fmt.Errorf("%s is no data directory: %w", c.Data, err)
	}
	seg, err := c.Segmenter()
	if err != nil {
		return err
	}
	cfg := index.ReindexConfig{Dir: c.Data, Recipe: seg.Recipe(), Analyze: ingest.Analyzer(seg)}
	e, err := reindex.SampleEstimate(co.Ctx, cfg)
	if err != nil {
		return err
	}
	if c.DryRun {
		return c.print(co, e, func() { printEstimate(co, e) })
	}
	if err := c.checkSpace(e); err != nil {
		return err
	}
	if e.Resumed > 0 {
		fmt.Fprintf(co.Err, "continues after item %d\n", e.Resumed)
	}
	report, err := c.reindex(co, seg, cfg)
	if err != nil {
		return err
	}
	return c.print(co, report, func() { printReindex(co, report) })
}

// reindex has the service that runs reindex the directory, or does it in this process.
func (c *reindexCmd) reindex(co *companion.Streams, seg *segment.Segmenter, cfg index.ReindexConfig) (report *index.ReindexReport, err error) {
	where := reach.Flags{Data: c.Data, Access: c.Access}
	conn, done, err := where.Reach(&co.Ctx, co.Log, func() (*nats.Conn, func() error, error) {
		lock, err := datadir.Acquire(c.Data, datadir.Holder{Command: "reindex"})
		if err != nil {
			return nil, nil, err
		}
		cfg.Progress, cfg.Logger = co.Rate("reindexing items"), co.Log
		if report, err = alone(co, seg, cfg); err != nil {
			err = fmt.Errorf("not finished; completed work is kept, run it again to continue: %w", err)
		}
		return nil, func() error { return nil }, errors.Join(err, lock.Close())
	})
	if err != nil {
		return nil, err
	}
	if conn != nil {
		report, err = askToReindex(co, conn, cfg.Recipe)
	}
	return report, errors.Join(err, done())
}

// alone reindexes a directory that this process has locked.
func alone(co *companion.Streams, seg *segment.Segmenter, cfg index.ReindexConfig) (report *index.ReindexReport, err error) {
	x, err := offline.OpenIndex(co, cfg.Dir, seg, index.Config{Progress: co.Progress.Stages("loading")})
	if err != nil {
		return nil, err
	}
	if report, err = x.Reindex(co.Ctx, cfg, func() {}); err == nil {
		err = datadir.Record(cfg.Dir)
	}
	return report, errors.Join(err, x.Close())
}

// checkSpace returns an error if the disk is too small for the reindex.
func (c *reindexCmd) checkSpace(e *reindex.Estimate) error {
	free, err := disk.Disk{Dir: c.Data}.Free()
	if err != nil || free >= uint64(e.Bytes) {
		return err
	}
	return fmt.Errorf("a reindex may take %s more on the disk of %s, and %s are free: make room", mib(e.Bytes), c.Data, mib(int64(free)))
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", (bytes+1<<20-1)>>20) }

func (c *reindexCmd) print(co *companion.Streams, result any, text func()) error {
	if c.JSON {
		return json.NewEncoder(co.Out).Encode(result)
	}
	text()
	return nil
}

func printEstimate(co *companion.Streams, e *reindex.Estimate) {
	about := "about "
	if int64(e.Sampled) == e.Left {
		about = ""
	}
	if e.Other == 0 && about == "" && (e.Force == "" || e.Force == e.Recipe) {
		fmt.Fprintf(co.Out, "nothing to do: all %d items are compared by recipe %s\n", e.Items, e.Recipe)
		return
	}
	if e.Resumed > 0 {
		fmt.Fprintf(co.Out, "continues after item %d\n", e.Resumed)
	}
	fmt.Fprintf(co.Out, "recipe %s: %d of %d items to be looked at, %s%d of them of another recipe\n", e.Recipe, e.Left, e.Items, about, e.Other)
	fmt.Fprintf(co.Out, "  %s%d get another fingerprint or sketch\n", about, e.Changed)
	fmt.Fprintf(co.Out, "  %s%d have no kept text, and keep their fingerprint\n", about, e.WithoutText)
	fmt.Fprintf(co.Out, "  about %s on this machine, %s on the disk at most, %s of memory while it lasts\n", time.Duration(max(e.Seconds, 1)*float64(time.Second)).Round(time.Second), mib(e.Bytes), mib(e.Memory))
}

func printReindex(co *companion.Streams, r *index.ReindexReport) {
	if !r.Switched {
		fmt.Fprintf(co.Out, "nothing to do: items are compared by recipe %s\n", r.Recipe)
	} else {
		fmt.Fprintf(co.Out, "items are compared by recipe %s from now on\n", r.Recipe)
		fmt.Fprintf(co.Out, "  %d of %d items of another recipe have another fingerprint or sketch\n", r.Changed, r.Items)
	}
	if r.WithoutText > 0 {
		fmt.Fprintf(co.Out, "  %s without a kept text: they keep their fingerprint, and meet new texts less well\n", companion.Plural(int(r.WithoutText), "item"))
	}
	if r.Failed > 0 {
		fmt.Fprintf(co.Out, "  %s could not be worked on, and keep theirs too: see the log\n", companion.Plural(int(r.Failed), "text"))
	}
	fmt.Fprintf(co.Out, "  %d looked at in %.1f s (%.0f/s); verdicts, events and decisions are as they were\n", r.Looked, r.Seconds, float64(r.Looked)/max(r.Seconds, 1e-9))
}

// askToReindex has a service reindex, and waits for the end. The service goes on with it when
// this command is interrupted.
func askToReindex(co *companion.Streams, conn *nats.Conn, recipe string) (*index.ReindexReport, error) {
	ctx, cancel := context.WithCancelCause(co.Ctx)
	defer cancel(nil)
	conn.SetDisconnectErrHandler(func(*nats.Conn, error) {
		cancel(errors.New("the service ended: run the command again when it is back"))
	})
	message, err := conn.RequestWithContext(ctx, bus.SubjectReindex, []byte(recipe))
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), fmt.Errorf("the service: %w", err))
	}
	var answer struct {
		Report *index.ReindexReport
		Error  string
	}
	if err := json.Unmarshal(message.Data, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("the service: %s", answer.Error)
	}
	return answer.Report, nil
}
