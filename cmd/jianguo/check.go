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

func (c *checkCmd) Run(co *stdio) error {
	return must.Catch(func() {
		e := c.ask(co, readDocument(co, c.File))
		if c.JSON {
			must.Do(json.NewEncoder(co.out).Encode(e))
			return
		}
		text := e.Verdict.String()
		if e.Rule != index.NoRule {
			text += fmt.Sprintf(" (%s)", e.Rule)
		}
		text += fmt.Sprintf("\n  %s\n", e.Why)
		if e.Of != "" {
			text += "  earlier text " + e.Of
			if e.Cluster != 0 { // it would join that
				text += fmt.Sprintf(", cluster %d", e.Cluster)
			}
			text += "\n"
		}
		must.Get(fmt.Fprintf(co.out, "%s  fingerprint %s\n", text, e.Fingerprint))
	})
}

// ask asks a service. It panics on errors (must).
func (c *checkCmd) ask(co *stdio, it *ingest.Item) (e index.Event) {
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
