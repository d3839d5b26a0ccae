package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/internal/jsonl"
	"jianguo/internal/must"
	"jianguo/internal/wait"
)

type ingestCmd struct {
	To       reachFlags `embed:""`
	JSON     bool       `help:"End with one line of JSON instead of a summary."`
	Verdicts string     `help:"Write the verdict events, as published, to this file, one a line." placeholder:"FILE"`
	Files    []string   `arg:"" help:"Files of one item a line, JSON, maybe gzipped; - is standard input."`
	Create   bool       `help:"Make the directory, if it is missing."`

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

func (s *summary) count(v index.Verdict) {
	switch v {
	case index.Unique:
		s.Unique++
	case index.Suspect:
		s.Suspect++
	case index.Duplicate:
		s.Duplicate++
	case index.Withdrawn:
		s.Failed++ // withdrawn earlier: not published
	}
}

// Run publishes files and waits for all verdicts.
func (c *ingestCmd) Run(co *streams) error {
	var own *ownService
	conn, err := c.To.reach(co)
	if errors.Is(err, datadir.ErrIdle) || c.Create && errors.Is(err, fs.ErrNotExist) {
		if own, err = startService(co, c.To.Data, []string{"--listen=127.0.0.1:0", "--nats-listen=127.0.0.1:0"},
			c.apply); err == nil {
			conn, err = c.To.reach(co)
		}
	}
	return own.stopAfter(must.Catch(func() { c.publish(co, must.Get(conn, err)) }))
}

// publish publishes the files and prints what became of the items. Package must ends it.
func (c *ingestCmd) publish(co *streams, conn *nats.Conn) {
	defer conn.Close()
	s := publishFiles(co, conn, c.Files, c.To.StreamPrefix, c.Verdicts, nil)
	if c.JSON {
		must.Do(json.NewEncoder(co.out).Encode(s))
	} else {
		must.Get(fmt.Fprintf(co.out, "%d items in %.1f s (%.0f/s): %d unique, %d suspect, %d duplicate, %d failed\n",
			s.Items, s.Seconds, s.ItemsPerSecond, s.Unique, s.Suspect, s.Duplicate, s.Failed))
	}
	if s.Failed > 0 {
		must.Do(fmt.Errorf("%s failed: see `jianguo dead list`", plural(s.Failed, "item")))
	}
}

// silence is after what time without a verdict an ingest says noVerdict.
const (
	silence   = 5 * time.Second
	noVerdict = "jianguo: no verdict yet: is a service running on this bus? Items wait there for one"
)

// publishFiles publishes every line of the files and waits for the outcomes. each,
// which may be nil, is called with every outcome. Package must ends it.
func publishFiles(co *streams, conn *nats.Conn, files []string, prefix, verdicts string,
	each func(*ingest.Outcome)) *summary {
	s := new(summary)
	bar := co.progress.bar(-1, "publishing")
	var highest uint64
	late := time.AfterFunc(silence, func() { fmt.Fprintln(co.err, noVerdict) })
	defer late.Stop()
	js := must.Get(jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*ingest.MaxInFlight),
		jetstream.WithPublishAsyncTimeout(ingest.StoreWait)))
	p := must.Get(ingest.NewFeed(js, func(line int, o *ingest.Outcome, err error) {
		s.Items++
		late.Stop()
		_ = bar.Add(1)
		switch {
		case err == nil && o.Error != "":
			err = fmt.Errorf("%s: %s", o.Field, o.Error)
			fallthrough
		case err != nil:
			s.Failed++
			co.log.Error("item failed", "line", line, "error", err)
		case o.Event != nil:
			s.count(o.Event.Verdict)
			highest = max(highest, o.Event.Number)
		}
		if each != nil && o != nil {
			each(o)
		}
	}))
	var tail *verdictTail
	if verdicts != "" {
		tail = tailVerdicts(co.ctx, js, prefix, verdicts)
	}
	start := time.Now()
	for _, name := range files {
		must.Do(jsonl.Read(co.in, name, func(number int, line []byte) error {
			return p.Add(co.ctx, number, jsonl.Item(line))
		}))
	}
	must.Do(p.Wait())
	s.Seconds = time.Since(start).Seconds()
	s.ItemsPerSecond = float64(s.Items) / max(s.Seconds, 1e-9)
	_ = bar.Finish()
	if tail != nil {
		must.Do(tail.finish(co.ctx, highest))
	}
	return s
}

// verdictTail writes events to a file as they are published.
type verdictTail struct {
	file     *os.File
	buffer   *bufio.Writer // used by the consumer until it has stopped
	consumer jetstream.ConsumeContext
	last     atomic.Uint64 // number of the last event written
}

// tailVerdicts begins to write the events of a stream from now on. Package must ends it.
func tailVerdicts(ctx context.Context, js jetstream.JetStream, prefix, name string) *verdictTail {
	stream, err := js.Stream(ctx, prefix+bus.StreamVerdicts)
	must.Dof(err, "verdicts")
	last := stream.CachedInfo().State.LastSeq
	number := last
	if m, err := stream.GetMsg(ctx, last); err == nil {
		number = cmp.Or(ingest.EventNumber(m.Header, m.Data), last) // of the last event before
	}
	consumer, err := stream.OrderedConsumer(ctx,
		jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: last + 1})
	must.Dof(err, "verdicts")
	t := new(verdictTail)
	t.last.Store(number)
	t.file, err = os.Create(name)
	must.Dof(err, "verdicts")
	t.buffer = bufio.NewWriterSize(t.file, 1<<16)
	t.consumer, err = consumer.Consume(func(m jetstream.Msg) {
		number := ingest.EventNumber(m.Headers(), m.Data())
		if number == 0 {
			return // no event
		}
		// The buffer keeps the error of a failed write for Flush.
		_, _ = t.buffer.Write(m.Data())
		_ = t.buffer.WriteByte('\n')
		t.last.Store(number)
	})
	must.Do(err)
	return t
}

// finish waits until the event with that number has been written.
func (t *verdictTail) finish(ctx context.Context, number uint64) error {
	deadline := time.Now().Add(time.Minute)
	for t.last.Load() < number {
		if time.Now().After(deadline) {
			return fmt.Errorf("verdicts: event %d did not come within a minute; the file ends at %d", number,
				t.last.Load())
		}
		if err := wait.For(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	t.consumer.Stop()
	<-t.consumer.Closed()
	return errors.Join(t.buffer.Flush(), t.file.Close())
}
