package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"jianguo/ingest"
	"jianguo/internal/jsonl"
	"jianguo/internal/must"
)

type ingestCmd struct {
	File       string        `arg:"" help:"Articles: JSON lines, plain or .gz." type:"existingfile"`
	Dir        string        `help:"Data directory of the service; empty: temporary." placeholder:"DIR"`
	Rate       float64       `help:"Articles a second while latency is measured; 0: half of what was reached flat out."`
	Duration   time.Duration `help:"How long latency is measured at most; less if the articles run out." default:"20s"`
	Durability string        `help:"Of the service that is started: ${enum}." enum:"synced,relaxed" default:"synced"`
	serviceFlags
}

func (c *ingestCmd) Run(co *streams) error {
	return must.Catch(func() {
		messages := c.messages(co)
		service := startService(co.ctx, false, c.jianguo(), cmp.Or(c.Dir, co.dir), "--durability", c.Durability)
		defer service.stop()
		// Until the outlines of the catalogue are in memory judging reads more.
		service.awaitMetric(co.ctx, "jianguo_index_outlines_progress")
		address := must.Get(url.Parse(service.nats))
		address.User = url.User(service.token)
		co.print(c.measure(co.ctx, address.String(), messages))
	})
}

// messages reads the articles to publish, each under a new id. It panics on errors (must).
func (c *ingestCmd) messages(co *streams) (messages [][]byte) {
	run := time.Now().UnixNano()
	must.Do(jsonl.Read(co.in, c.File, func(_ int, line []byte) error {
		it, err := ingest.DecodeDocument(jsonl.WithPublishedAt(line))
		if err != nil {
			return err
		}
		it.ID, it.Revision = fmt.Sprintf("bench-%d-%d", run, len(messages)), 0
		messages = append(messages, must.Get(json.Marshal(it)))
		return nil
	}))
	if len(messages) < 2 {
		must.Do(fmt.Errorf("%s: two articles at least are needed", c.File))
	}
	return messages
}
