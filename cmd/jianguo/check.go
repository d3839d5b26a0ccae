package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/must"
)

type checkCmd struct {
	To   reachFlags `embed:""`
	JSON bool       `help:"Print the verdict event as JSON."`
	File string     `arg:"" optional:"" help:"An item as JSON, or plain text; - is standard input." default:"-"`
}

// Run prints the verdict that an article would get.
func (c *checkCmd) Run(co *streams) error {
	return must.Catch(func() {
		e := c.ask(co, readDocument(co, c.File))
		if c.JSON {
			must.Do(json.NewEncoder(co.out).Encode(e))
			return
		}
		fmt.Fprintf(co.out, "%s", e.Verdict)
		if e.Rule != index.NoRule {
			fmt.Fprintf(co.out, " (%s)", e.Rule)
		}
		fmt.Fprintf(co.out, "\n  %s\n", e.Why)
		if e.Of != "" {
			fmt.Fprintf(co.out, "  earlier text %s", e.Of)
			if e.Cluster != 0 { // it would join that
				fmt.Fprintf(co.out, ", cluster %d", e.Cluster)
			}
			fmt.Fprintln(co.out)
		}
		fmt.Fprintf(co.out, "  fingerprint %s\n", e.Fingerprint)
	})
}

// ask asks a service. Package must ends it.
func (c *checkCmd) ask(co *streams, it *ingest.Item) (e index.Event) {
	conn := must.Get(c.To.reach(co))
	defer conn.Close()
	reply, err := conn.RequestWithContext(co.ctx, bus.SubjectCheck, must.Get(json.Marshal(it)))
	if errors.Is(err, nats.ErrNoResponders) {
		err = fmt.Errorf("no service is ready on this bus: %w", err)
	}
	must.Dof(err, "check")
	if text := reply.Header.Get("Nats-Service-Error"); text != "" {
		must.Do(fmt.Errorf("check: %s", text))
	}
	if err := json.Unmarshal(reply.Data, &e); err != nil || e.Verdict == 0 {
		must.Do(fmt.Errorf("check: what answers on this bus is no service: %.100s", reply.Data))
	}
	return e
}
