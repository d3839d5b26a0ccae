package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/ingest"
	"jianguo/internal/must"
	"jianguo/internal/wait"
)

// ingestLoad publishes as `jianguo ingest` does.
type ingestLoad struct {
	items  []*ingest.Item // published under new ids, each once at most
	prefix string         // of the ids of this run
	conn   *nats.Conn
}

// measureIngest measures the service on a bus: the highest rate of articles a second, and the time from
// publishing to the verdict at a share of that rate. Package must ends it.
func measureIngest(ctx context.Context, c ingestCmd, url string, items []*ingest.Item) *ingestResult {
	conn := must.Get(bus.Connect(url))
	defer conn.Close()
	l := &ingestLoad{items: items, prefix: fmt.Sprintf("bench-%d-", time.Now().UnixNano()), conn: conn}
	res := &ingestResult{Prefilled: l.settled(ctx), Items: len(items) / 2}
	_, took := l.publish(ctx, 0, res.Items, 0)
	res.Seconds = took.Seconds()
	res.ArticlesPerSecond = float64(res.Items) / res.Seconds
	res.Rate = cmp.Or(c.Rate, res.ArticlesPerSecond/2)
	res.Timed = max(min(len(items)-res.Items, int(res.Rate*c.Duration.Seconds())), 1)
	each, _ := l.publish(ctx, res.Items, res.Timed, time.Duration(float64(time.Second)/res.Rate))
	each = each.sorted()
	res.P50, res.P99 = each.at(.5)/1000, each.at(.99)/1000
	return res
}

// settled waits until the service publishes no more events of what its catalogue holds, and returns how many there
// are. Package must ends it.
func (l *ingestLoad) settled(ctx context.Context) (events uint64) {
	for before := events + 1; before != events; {
		before = events
		must.Do(wait.For(ctx, time.Second))
		events = must.Get(bus.JetStream(l.conn).Stream(ctx, bus.StreamVerdicts)).CachedInfo().State.LastSeq
	}
	return events
}

// publish publishes n articles from one on, the next one a step later, whether or not earlier ones have their verdicts
// (an open loop). It returns how long each verdict took since its article was due, and how long all took. Package must
// ends it.
func (l *ingestLoad) publish(ctx context.Context, from, n int, step time.Duration) (samples, time.Duration) {
	messages, took := make([][]byte, n), make(samples, n)
	for k := range messages {
		it := *l.items[from+k]
		it.ID = l.prefix + strconv.Itoa(from+k)
		messages[k] = must.Get(json.Marshal(&it))
	}
	start := time.Now()
	due := func(k int) time.Time { return start.Add(time.Duration(k) * step) }
	var failed error
	feed := must.Get(ingest.NewFeed(l.conn, func(k int, o *ingest.Outcome, err error) {
		took[k] = micros(time.Since(due(k)))
		if err == nil && o.Error != "" {
			err = errors.New(o.Error)
		}
		failed = cmp.Or(failed, err)
	}))
	for k, m := range messages {
		time.Sleep(time.Until(due(k)))
		must.Do(feed.Add(ctx, k, m))
	}
	must.Do(feed.Wait())
	must.Do(failed)
	return took, time.Since(start)
}
