package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/reach"
	"jianguo/segment"
)

type checkCmd struct {
	reach.Flags
	JSON     bool   `help:"Print the verdict event as JSON."`
	Language string `help:"Language of the reason, ${enum}; a running service answers in its own." enum:"zh,en" default:"zh"`
	File     string `arg:"" optional:"" help:"An item as JSON, or plain text; - is standard input." default:"-"`
	policyFlags
	segmentFlags
}

// Run prints the verdict that an article would get.
func (c *checkCmd) Run(co *streams) error {
	it, err := c.item(co)
	if err != nil {
		return err
	}
	e, err := c.ask(co, it)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(co.out).Encode(e)
	}
	fmt.Fprintf(co.out, "%s", e.Verdict)
	if e.Rule != index.NoRule {
		fmt.Fprintf(co.out, " (%s)", e.Rule)
	}
	fmt.Fprintf(co.out, "\n  %s\n  fingerprint %s\n", e.Why, e.Fingerprint)
	return nil
}

// item reads the article: a JSON object, or else plain text.
func (c *checkCmd) item(co *streams) (*ingest.Item, error) {
	r := co.in
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	it, err := ingest.ReadDocument(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	return it, nil
}

// ask asks a running service, or opens the data directory for this command.
func (c *checkCmd) ask(co *streams, it *ingest.Item) (_ *index.Event, err error) {
	var e index.Event
	conn, done, err := c.Reach(&co.ctx, co.log, func() (*nats.Conn, func() error, error) {
		if _, err := os.Stat(c.Data); err != nil {
			return nil, nil, fmt.Errorf("data directory: %w", err)
		}
		h, err := openCore(co, coreConfig{Command: "check", Data: c.Data, NoBus: true, Language: c.Language, Policy: c.policy(), Segment: c.segmentFlags})
		if err != nil {
			return nil, nil, err
		}
		e, err = h.index.Check(co.ctx, ingest.Prepare(h.segmenter, new(segment.Text), it), uint32(time.Now().Unix()))
		return nil, nil, errors.Join(err, h.Close())
	})
	if conn == nil {
		return &e, err
	}
	defer func() { err = errors.Join(err, done()) }()
	payload, err := json.Marshal(it)
	if err != nil {
		return nil, err
	}
	reply, err := conn.RequestWithContext(co.ctx, "items.check", payload)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	if text := reply.Header.Get("Nats-Service-Error"); text != "" {
		return nil, fmt.Errorf("check: %s", text)
	}
	if err := json.Unmarshal(reply.Data, &e); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	return &e, nil
}
