package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/internal/jsonl"
	"jianguo/internal/must"
)

type ingestCmd struct {
	To       reachFlags `embed:""`
	JSON     bool       `help:"End with one line of JSON instead of a summary."`
	Verdicts string     `help:"Write the event of each verdict to this file, one a line." placeholder:"FILE"`
	Files    []string   `arg:"" help:"Files of one item a line, JSON, maybe gzipped; - is standard input."`
	Create   bool       `help:"Make the data directory, if it is missing or none."`

	// Of the service that is started where none runs on the directory.
	Durability string `help:"What an acknowledgement means: ${durability}." enum:"synced,relaxed" default:"synced"`
	Language   string `help:"Language of reasons, ${enum}." enum:"zh,en" default:"zh"`
	segmentFlags
}

// apply sets the flags of a service that is started. It judges by the policy that the directory records.
func (c *ingestCmd) apply(f *serveFlags) {
	f.Durability, f.Language, f.segmentFlags, f.recorded = c.Durability, c.Language, c.segmentFlags, true
}

// summary is printed at the end of an ingest.
type summary struct {
	Items          int     `json:"items"`
	Unique         int     `json:"unique"`
	Suspect        int     `json:"suspect"`
	Duplicate      int     `json:"duplicate"`
	Failed         int     `json:"failed"`
	Seconds        float64 `json:"seconds"`
	ItemsPerSecond float64 `json:"items_per_second"`
}

// Run publishes files and waits for all verdicts.
func (c *ingestCmd) Run(co *stdio) error {
	var own *ownService
	conn, err := c.To.reach(co)
	if errors.Is(err, datadir.ErrIdle) && !c.Create {
		if err := isDataDir(c.To.Data); err != nil {
			return fmt.Errorf("%w; --create makes it one", err)
		}
	}
	if errors.Is(err, datadir.ErrIdle) || c.Create && errors.Is(err, fs.ErrNotExist) {
		if own, err = startService(co, c.To.Data, []string{"--listen=127.0.0.1:0", "--nats-listen=127.0.0.1:0"},
			c.apply); err == nil {
			conn, err = c.To.reach(co)
		}
	}
	return own.stopAfter(must.Catch(func() { c.publish(co, must.Get(conn, err)) }))
}

// publish publishes the files and prints what became of the items. It panics on errors (must).
func (c *ingestCmd) publish(co *stdio, conn *nats.Conn) {
	defer conn.Close()
	each := func(*index.Event) {}
	var unwritten error
	if c.Verdicts != "" {
		f := must.Get(os.Create(c.Verdicts))
		defer f.Close()
		out := json.NewEncoder(f)
		each = func(e *index.Event) { unwritten = cmp.Or(unwritten, out.Encode(e)) }
	}
	s, end := publishFiles(co, conn, c.Files, each)
	must.Dof(unwritten, "--verdicts")
	if c.JSON {
		must.Do(json.NewEncoder(co.out).Encode(s))
	} else {
		must.Get(fmt.Fprintf(co.out, "%d items in %.1f s (%.0f/s): %d unique, %d suspect, %d duplicate, %d failed\n",
			s.Items, s.Seconds, s.ItemsPerSecond, s.Unique, s.Suspect, s.Duplicate, s.Failed))
	}
	if s.Failed > 0 {
		end = errors.Join(end, fmt.Errorf("%s failed: see `jianguo dead list`", plural(s.Failed, "item")))
	}
	must.Do(end)
}

// silence is how long after its first item an ingest waits for a verdict before it says noVerdict.
const (
	silence   = 5 * time.Second
	noVerdict = "jianguo: no verdict yet: is a service running on this bus? Items wait there for one"
)

// publishFiles publishes every line of the files up to one that cannot be read, waits for the verdicts, and calls each
// with their events. It ends with the first item of which the bus says nothing. It panics on errors (must).
func publishFiles(co *stdio, conn *nats.Conn, files []string, each func(*index.Event)) (_ *summary, end error) {
	s := new(summary)
	counts := map[index.Verdict]*int{index.Unique: &s.Unique, index.Suspect: &s.Suspect,
		index.Duplicate: &s.Duplicate, index.Withdrawn: &s.Failed} // withdrawn earlier: not published
	bar := co.progress.bar(-1, "publishing")
	late := time.AfterFunc(math.MaxInt64, func() { fmt.Fprintln(co.err, noVerdict) })
	wait := sync.OnceFunc(func() { late.Reset(silence) })
	defer late.Stop()
	ctx, stop := context.WithCancelCause(co.ctx)
	defer stop(nil)
	done := func(file string, line int, o *ingest.Outcome, err error) {
		if err != nil && !errors.Is(err, nats.ErrMaxPayload) {
			stop(fmt.Errorf("%w; run it again when the service is back: it judges nothing twice", err))
			return
		}
		s.Items++
		late.Stop()
		_ = bar.Add(1)
		switch {
		case err == nil && o.Error != "":
			err = fmt.Errorf("%s: %s", o.Field, o.Error)
			fallthrough
		case err != nil:
			s.Failed++
			co.log.Error("item failed", "file", file, "line", line, "error", err)
		case o.Event != nil:
			*counts[o.Event.Verdict]++
			each(o.Event)
		}
	}
	p := must.Get(ingest.NewFeed(conn))
	start := time.Now()
	for i := 0; i < len(files) && end == nil; i++ { // a later file would be first with what an earlier one has
		end = jsonl.Read(co.in, files[i], func(number int, line []byte) error {
			wait()
			return p.Add(ctx, jsonl.WithPublishedAt(line), func(o *ingest.Outcome, err error) {
				done(files[i], number, o, err)
			})
		})
	}
	if p.Wait() != nil {
		end = context.Cause(ctx)
	}
	s.Seconds = time.Since(start).Seconds()
	s.ItemsPerSecond = float64(s.Items) / max(s.Seconds, 1e-9)
	_ = bar.Finish()
	return s, end
}
