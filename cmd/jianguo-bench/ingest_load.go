package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/ingest"
	"jianguo/internal/wait"
)

// ingestLoad publishes as `jianguo ingest` does: at most ingest.MaxInFlight articles wait for their verdicts.
type ingestLoad struct {
	items  []*ingest.Item // published under new ids, each once at most
	prefix string         // of the ids of this run
	js     jetstream.JetStream
}

// measureIngest measures the service on a bus: the highest rate of articles a second, and the time from
// publishing to the verdict at a share of that rate.
func measureIngest(ctx context.Context, c ingestCmd, url string, items []*ingest.Item) (*ingestResult, error) {
	conn, err := bus.Connect(url)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	l := &ingestLoad{items: items, prefix: fmt.Sprintf("bench-%d-", time.Now().UnixNano())}
	l.js, err = jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*ingest.MaxInFlight),
		jetstream.WithPublishAsyncTimeout(ingest.StoreWait))
	if err != nil {
		return nil, err
	}
	res := new(ingestResult)
	if res.Prefilled, err = l.settled(ctx); err != nil {
		return nil, err
	}
	res.Items = len(items) / 2
	_, took, err := l.publish(ctx, 0, res.Items, 0)
	if err != nil {
		return nil, err
	}
	res.Seconds = took.Seconds()
	res.ArticlesPerSecond = float64(res.Items) / res.Seconds
	res.Rate = cmp.Or(c.Rate, res.ArticlesPerSecond/2)
	res.Timed = max(min(len(items)-res.Items, int(res.Rate*c.Duration.Seconds())), 1)
	each, _, err := l.publish(ctx, res.Items, res.Timed, time.Duration(float64(time.Second)/res.Rate))
	each = each.sorted()
	res.P50, res.P99 = each.at(.5)/1000, each.at(.99)/1000
	return res, err
}

// settled waits until the service publishes no more events of what its catalogue holds, and returns how many there are.
func (l *ingestLoad) settled(ctx context.Context) (events uint64, err error) {
	for before := events + 1; before != events; {
		before = events
		if err := wait.For(ctx, time.Second); err != nil {
			return 0, err
		}
		stream, err := l.js.Stream(ctx, bus.StreamVerdicts)
		if err != nil {
			return 0, err
		}
		events = stream.CachedInfo().State.LastSeq
	}
	return events, nil
}

// publish publishes n articles from one on, the next one a step later, whether or not earlier ones have their verdicts
// (an open loop). It returns how long each verdict took since its article was due, and how long all took.
func (l *ingestLoad) publish(ctx context.Context, from, n int, step time.Duration) (samples, time.Duration, error) {
	messages, took := make([][]byte, n), make(samples, n)
	for k := range messages {
		it := *l.items[from+k]
		it.ID = l.prefix + strconv.Itoa(from+k)
		var err error
		if messages[k], err = json.Marshal(&it); err != nil {
			return nil, 0, err
		}
	}
	start := time.Now()
	due := func(k int) time.Time { return start.Add(time.Duration(k) * step) }
	var failed error
	feed, err := ingest.NewFeed(l.js, func(k int, o *ingest.Outcome, err error) {
		took[k] = micros(time.Since(due(k)))
		if err == nil && o.Error != "" {
			err = errors.New(o.Error)
		}
		failed = cmp.Or(failed, err)
	})
	if err != nil {
		return nil, 0, err
	}
	for k, m := range messages {
		time.Sleep(time.Until(due(k)))
		if err := feed.Add(ctx, k, m); err != nil {
			return nil, 0, err
		}
	}
	err = cmp.Or(feed.Wait(), failed)
	return took, time.Since(start), err
}
