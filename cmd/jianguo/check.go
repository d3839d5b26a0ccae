package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
)

type checkCmd struct {
	To   reachFlags `embed:""`
	JSON bool       `help:"Print the verdict event as JSON."`
	File string     `arg:"" optional:"" help:"An item as JSON, or plain text; - is standard input." default:"-"`
}

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
func (c *checkCmd) ask(co *streams, it *ingest.Item) (*index.Event, error) {
	conn, err := c.To.reach(co)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	payload, err := json.Marshal(it)
	if err != nil {
		return nil, err
	}
	reply, err := conn.RequestWithContext(co.ctx, bus.SubjectCheck, payload)
	if errors.Is(err, nats.ErrNoResponders) {
		err = fmt.Errorf("no service is ready on this bus: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	if text := reply.Header.Get("Nats-Service-Error"); text != "" {
		return nil, fmt.Errorf("check: %s", text)
	}
	var e index.Event
	if err := json.Unmarshal(reply.Data, &e); err != nil || e.Verdict == 0 {
		return nil, fmt.Errorf("check: what answers on this bus is no service: %.100s", reply.Data)
	}
	return &e, nil
}
