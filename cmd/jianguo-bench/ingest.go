package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"jianguo/ingest"
	"jianguo/internal/jsonl"
)

type ingestCmd struct {
	File       string        `arg:"" help:"Articles: JSON lines, plain or .gz." type:"existingfile"`
	Dir        string        `help:"Data directory of the service; empty: temporary." placeholder:"DIR"`
	Rate       float64       `help:"Articles a second while latency is measured; 0: half of what was reached flat out."`
	Duration   time.Duration `help:"How long latency is measured at most; less if the articles run out." default:"20s"`
	Durability string        `help:"Of the service that is started: ${enum}." enum:"synced,relaxed" default:"synced"`
	serviceFlags
}

// ingestResult is one run. Times are milliseconds.
type ingestResult struct {
	Prefilled         uint64  `json:"prefilled"` // events of the catalogue at the start
	Items             int     `json:"items"`     // flat out
	Seconds           float64 `json:"seconds"`
	ArticlesPerSecond float64 `json:"articles_per_second"`

	Rate  float64 `json:"rate"` // articles a second, published one by one at even intervals
	Timed int     `json:"timed"`
	P50   float64 `json:"verdict_p50_ms"` // from when an article was due to its verdict
	P99   float64 `json:"verdict_p99_ms"`
}

// Run starts a service and measures it.
func (c *ingestCmd) Run(co *streams) error {
	items, err := c.items(co)
	if err != nil {
		return err
	}
	c.Dir = cmp.Or(c.Dir, co.dir)
	service, address, err := c.start(co.ctx)
	if err != nil {
		return err
	}
	defer service.stop()
	res, err := measureIngest(co.ctx, *c, address, items)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return co.print(res)
}

// items reads the articles to publish.
func (c *ingestCmd) items(co *streams) (items []*ingest.Item, err error) {
	err = jsonl.Read(co.in, c.File, func(number int, line []byte) error {
		it, err := ingest.DecodeDocument(jsonl.Item(line))
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", c.File, number, err)
		}
		it.Revision = 0
		items = append(items, it)
		return nil
	})
	if err == nil && len(items) < 2 {
		err = fmt.Errorf("%s: two articles at least are needed", c.File)
	}
	return items, err
}

// start starts a service on c.Dir and returns the address of its bus. It waits until the outlines of the catalogue are
// in memory: until then judging reads more.
func (c *ingestCmd) start(ctx context.Context) (service *process, address string, err error) {
	jianguo, err := c.jianguo()
	if err != nil {
		return nil, "", err
	}
	service, err = startService(ctx, false, jianguo, c.Dir, "--durability", c.Durability)
	if err != nil {
		return nil, "", err
	}
	u, err := url.Parse(service.nats)
	if err == nil {
		u.User = url.User(service.token)
		err = service.awaitMetric(ctx, "jianguo_index_outlines_progress")
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: %s", err, service.stop())
	}
	return service, u.String(), nil
}
