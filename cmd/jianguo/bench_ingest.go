package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	indexbench "jianguo/index/bench"
	"jianguo/ingest"
	ingestbench "jianguo/ingest/bench"
)

type benchIngestCmd struct {
	File       string        `arg:"" help:"Articles to publish, half of them flat out and the rest to time: JSON lines, maybe gzipped." type:"existingfile"`
	NATS       string        `name:"nats" help:"Measure a service that runs there, and grow its catalogue; without it one is started." placeholder:"URL"`
	Dir        string        `help:"Data directory of the service that is started; empty: a temporary one, removed at the end." placeholder:"DIR"`
	Rate       float64       `help:"Articles a second while latency is measured; 0: a share of what was reached flat out."`
	Share      float64       `help:"That share." default:"0.5"`
	Duration   time.Duration `help:"How long latency is measured, at most: as long as half of the articles last." default:"20s"`
	Grouped    bool          `help:"While latency is measured, let articles that come while the bus syncs go on together, as the HTTP side does."`
	Prefill    uint64        `help:"Synthetic items to put into the catalogue first; what an earlier run left in --dir counts."`
	Durability string        `help:"Of the service that is started: ${enum}." enum:"synced,relaxed" default:"synced"`
	NoTexts    bool          `help:"Of the service that is started: do not keep bodies."`
	JSON       bool          `help:"Print one line of JSON."`
	policyFlags
	segmentFlags
}

// ingestBenchResult is a run, and the catalogue it began on.
type ingestBenchResult struct {
	Prefilled uint64 `json:"prefilled"`
	ingestbench.Result
}

// Run measures a service there, or one of this process: the articles then come
// from another process.
func (c *benchIngestCmd) Run(co *streams) (err error) {
	if c.NATS != "" {
		return c.load(co)
	}
	if c.Dir == "" {
		if c.Dir, err = os.MkdirTemp("", "jianguo-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(c.Dir)) }()
	}
	if c.Prefill > 0 {
		if err := c.prefill(co); err != nil {
			return err
		}
	}
	h, err := openHouse(co, houseConfig{Command: "bench", Data: c.Dir, NATSListen: "127.0.0.1:0", Relaxed: c.Durability == "relaxed",
		DropTexts: c.NoTexts, Policy: c.policy(), Segment: c.segmentFlags})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := passOver(co.ctx, h); err != nil {
		return err
	}
	// A start is measured by bench index; until this is done, judging reads more.
	select {
	case <-h.index.Probe().Outlined():
	case <-co.ctx.Done():
		return co.ctx.Err()
	}
	stop := background(co.ctx, h.ingest.Run)
	res, err := c.child(co, h.natsURL())
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	return c.print(co.out, res)
}

// prefill puts items into the catalogue, before a service has it.
func (c *benchIngestCmd) prefill(co *streams) error {
	lock, err := lockDir(c.Dir, holder{Command: "bench"})
	if err != nil {
		return err
	}
	defer lock.Close()
	began := time.Now().Add(-time.Duration(c.Prefill) * time.Millisecond)
	return indexbench.Fill(co.ctx, indexbench.Options{N: c.Prefill, Dir: c.Dir, Seed: 1, Progress: co.progress("bench")}, began)
}

// passOver lets VERDICTS begin where the catalogue ends: what was put there
// beforehand is not to be published while articles are measured.
func passOver(ctx context.Context, h *house) error {
	_, last := h.index.Applied()
	if last == 0 {
		return nil
	}
	js, err := jetstream.New(h.conn)
	if err != nil {
		return err
	}
	stream, err := js.Stream(ctx, ingest.StreamVerdicts)
	if err != nil {
		return err
	}
	if stream.CachedInfo().State.LastSeq >= last {
		return nil
	}
	return stream.Purge(ctx, jetstream.WithPurgeSequence(last+1))
}

// child measures from another process, this same program.
func (c *benchIngestCmd) child(co *streams, url string) (*ingestBenchResult, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(co.ctx, self, "bench", "ingest", "--nats", url, "--json", "--rate", fmt.Sprint(c.Rate), "--share", fmt.Sprint(c.Share),
		"--duration", c.Duration.String(), fmt.Sprintf("--grouped=%t", c.Grouped), c.File)
	cmd.Stderr = co.err
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("bench: the process that publishes: %w", err)
	}
	res := &ingestBenchResult{Prefilled: c.Prefill}
	return res, json.Unmarshal(out, &res.Result)
}

// load publishes and listens.
func (c *benchIngestCmd) load(co *streams) error {
	var items []*ingest.Item
	err := readLines(co.in, c.File, func(number int, line []byte) error {
		it, err := ingest.DecodeDocument(wireItem(line))
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", c.File, number, err)
		}
		it.Revision = 0
		items = append(items, it)
		return nil
	})
	if err != nil {
		return err
	}
	res, err := ingestbench.Run(co.ctx, ingestbench.Options{URL: c.NATS, Items: items, Rate: c.Rate, Share: c.Share, Duration: c.Duration,
		Grouped: c.Grouped, Progress: co.progress("bench")})
	if err != nil {
		return err
	}
	return c.print(co.out, &ingestBenchResult{Prefilled: c.Prefill, Result: *res})
}

func (c *benchIngestCmd) print(w io.Writer, res *ingestBenchResult) error {
	if c.JSON {
		return json.NewEncoder(w).Encode(res)
	}
	if _, err := fmt.Fprintf(w, "%d items in the catalogue beforehand\n", res.Prefilled); err != nil {
		return err
	}
	return res.Print(w)
}
