package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/ingest"
	"jianguo/internal/clock"
	"jianguo/internal/must"
)

// measure measures the service on a bus: the highest rate of articles a second, and the time from publishing to the
// verdict at a share of that rate. It panics on errors (must).
func (c *ingestCmd) measure(ctx context.Context, url string, messages [][]byte) figures {
	conn := must.Get(bus.Connect(url))
	defer conn.Close()
	prefilled := settled(ctx, conn)
	flatOut, others := messages[:len(messages)/2], messages[len(messages)/2:]
	_, took := publish(ctx, conn, flatOut, 0)
	reached := float64(len(flatOut)) / took.Seconds()
	rate := cmp.Or(c.Rate, reached/2)
	timed := others[:max(min(len(others), int(rate*c.Duration.Seconds())), 1)]
	each, _ := publish(ctx, conn, timed, time.Duration(float64(time.Second)/rate))
	res := figures{"prefilled": prefilled, "items": len(flatOut), "seconds": took.Seconds(),
		"articles_per_second": reached, "rate": rate, "timed": len(timed)}
	res.latency("verdict", "ms", each)
	return res
}

// settled waits until the service publishes no more events of what its catalogue holds, and returns how many there
// are. It panics on errors (must).
func settled(ctx context.Context, conn *nats.Conn) (events uint64) {
	for before := events + 1; before != events; {
		before = events
		must.Do(clock.Sleep(ctx, time.Second))
		events = must.Get(bus.JetStream(conn).Stream(ctx, bus.StreamVerdicts)).CachedInfo().State.LastSeq
	}
	return events
}

// publish publishes articles as `jianguo ingest` does, each a step after the one before, whether or not earlier ones
// have their verdicts (an open loop). It returns how long each verdict took since its article was due, and how long all
// took. It panics on errors (must).
func publish(ctx context.Context, conn *nats.Conn, messages [][]byte, step time.Duration) (samples, time.Duration) {
	took, start := make(samples, len(messages)), time.Now()
	due := func(k int) time.Time { return start.Add(time.Duration(k) * step) }
	var failed error
	feed := must.Get(ingest.NewFeed(conn))
	for k, m := range messages {
		time.Sleep(time.Until(due(k)))
		must.Do(feed.Add(ctx, m, func(o *ingest.Outcome, err error) {
			took[k] = micros(time.Since(due(k))) / 1000
			if err == nil && o.Error != "" {
				err = errors.New(o.Error)
			}
			failed = cmp.Or(failed, err)
		}))
	}
	must.Do(feed.Wait())
	must.Do(failed)
	return took, time.Since(start)
}
