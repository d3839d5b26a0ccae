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
)

type checkCmd struct {
	To   reachFlags `embed:""`
	JSON bool       `help:"Print the verdict event as JSON."`
	File string     `arg:"" optional:"" help:"An item as JSON, or plain text; - is standard input." default:"-"`
	judging
}

// answerWait is how long a service that starts may take to answer.
const answerWait = 10 * time.Second

// Run prints the verdict that an article would get.
func (c *checkCmd) Run(co *streams) error {
	it, err := readDocument(co, c.File)
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

// ask asks a service.
func (c *checkCmd) ask(co *streams, it *ingest.Item) (_ *index.Event, err error) {
	if err := c.To.choose(); err != nil {
		return nil, err
	}
	if c.To.Data != "" {
		if _, err := os.Stat(c.To.Data); err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
	}
	conn, done, err := connect(co, &c.To, c.apply)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	payload, err := json.Marshal(it)
	if err != nil {
		return nil, err
	}
	var reply *nats.Msg
	// Nobody answers yet while a service starts.
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		reply, err = conn.RequestWithContext(co.ctx, "items.check", payload)
		if !errors.Is(err, nats.ErrNoResponders) || time.Since(begun) > answerWait {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	if text := reply.Header.Get("Nats-Service-Error"); text != "" {
		return nil, fmt.Errorf("check: %s", text)
	}
	var e index.Event
	if err := json.Unmarshal(reply.Data, &e); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	return &e, nil
}
