package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"jianguo/bus"
	"jianguo/ingest"
	"jianguo/internal/wait"
)

const (
	onTheWay    = 2048            // articles flat out that are published and have no verdict yet
	verdictWait = 2 * time.Minute // for verdicts after the last article
)

// ingestLoad publishes and listens as a platform does.
type ingestLoad struct {
	items  []*ingest.Item // published under new ids, each once at most
	prefix string         // of the ids of this run
	js     jetstream.JetStream

	mu       sync.Mutex
	verdicts []time.Time   // mu; when the verdict of item i came
	came     int           // mu
	changed  chan struct{} // a verdict came
	window   chan struct{} // flat out: items on their way
}

// measureIngest measures the service on a bus: the highest rate of articles a second, and the time from
// publishing to the verdict at a share of that rate.
func measureIngest(ctx context.Context, c ingestCmd, url string, items []*ingest.Item) (*ingestResult, error) {
	l := &ingestLoad{items: items, prefix: fmt.Sprintf("bench-%d-", time.Now().UnixNano()),
		verdicts: make([]time.Time, len(items)), changed: make(chan struct{}, 1), window: make(chan struct{}, onTheWay)}
	listen, err := bus.Connect(url)
	if err != nil {
		return nil, err
	}
	defer listen.Close()
	publish, err := bus.Connect(url)
	if err != nil {
		return nil, err
	}
	defer publish.Close()
	sub, err := listen.Subscribe(bus.SubjectVerdicts+">", l.verdict)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(sub.SetPendingLimits(-1, -1), listen.Flush()); err != nil {
		return nil, err
	}
	if l.js, err = jetstream.New(publish, jetstream.WithPublishAsyncMaxPending(1<<16)); err != nil {
		return nil, err
	}
	res := new(ingestResult)
	if res.Prefilled, err = l.settled(ctx); err != nil {
		return nil, err
	}
	half := len(items) / 2
	if err := l.flatOut(ctx, half, res); err != nil {
		return nil, err
	}
	if res.Rate = c.Rate; res.Rate == 0 {
		res.Rate = res.ArticlesPerSecond / 2
	}
	n := min(len(items)-half, int(res.Rate*c.Duration.Seconds()))
	return res, l.steady(ctx, half, max(n, 1), res)
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

// verdict records when a verdict came. Later events of the same item do not count.
func (l *ingestLoad) verdict(m *nats.Msg) {
	now := time.Now()
	var e struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(m.Data, &e) != nil {
		return
	}
	number, ours := strings.CutPrefix(e.ID, l.prefix)
	i, err := strconv.Atoi(number)
	if !ours || err != nil || i >= len(l.verdicts) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.verdicts[i].IsZero() {
		return
	}
	l.verdicts[i] = now
	l.came++
	for _, c := range []chan struct{}{l.window, l.changed} {
		select {
		case <-c: // one article fewer on its way; or a signal that was not seen yet
		default:
		}
	}
	l.changed <- struct{}{}
}

// await returns when n verdicts have come.
func (l *ingestLoad) await(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, verdictWait)
	defer cancel()
	for {
		l.mu.Lock()
		came := l.came
		l.mu.Unlock()
		if came >= n {
			return nil
		}
		select {
		case <-l.changed:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d verdicts came: %w", came, n, ctx.Err())
		}
	}
}

// messages encodes n articles from the one with a number.
func (l *ingestLoad) messages(from, n int) ([][]byte, error) {
	messages := make([][]byte, n)
	for k := range messages {
		it := *l.items[from+k]
		it.ID = l.prefix + strconv.Itoa(from+k)
		var err error
		if messages[k], err = json.Marshal(&it); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// publish publishes an article, and waits in a group until the bus has acknowledged it.
func (l *ingestLoad) publish(ctx context.Context, g *errgroup.Group, data []byte) error {
	future, err := l.js.PublishMsgAsync(&nats.Msg{Subject: bus.SubjectPublish, Data: data})
	if err != nil {
		return err
	}
	g.Go(func() error {
		select {
		case <-future.Ok():
			return nil
		case err := <-future.Err():
			return fmt.Errorf("an article was not stored: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return nil
}

// flatOut publishes the first n articles as fast as the service takes them, with a window of articles in flight.
func (l *ingestLoad) flatOut(ctx context.Context, n int, res *ingestResult) error {
	messages, err := l.messages(0, n)
	if err != nil {
		return err
	}
	g, stored := errgroup.WithContext(ctx)
	start := time.Now()
	for _, m := range messages {
		select {
		case l.window <- struct{}{}:
		case <-stored.Done():
			return errors.Join(g.Wait(), ctx.Err())
		}
		if err := l.publish(stored, g, m); err != nil {
			return err
		}
	}
	if err := errors.Join(g.Wait(), l.await(ctx, n)); err != nil {
		return err
	}
	res.Items, res.Seconds = n, time.Since(start).Seconds()
	res.ArticlesPerSecond = float64(n) / res.Seconds
	return nil
}

// steady publishes n articles one by one, each at its due time, whether or not earlier ones have their verdicts (an
// open loop). Latencies count from the due time.
func (l *ingestLoad) steady(ctx context.Context, from, n int, res *ingestResult) error {
	messages, err := l.messages(from, n)
	if err != nil {
		return err
	}
	g, publishing := errgroup.WithContext(ctx)
	start, step := time.Now(), time.Duration(float64(time.Second)/res.Rate)
	due := func(k int) time.Time { return start.Add(time.Duration(k) * step) }
	for k, m := range messages {
		time.Sleep(time.Until(due(k)))
		if err := l.publish(publishing, g, m); err != nil {
			return err
		}
	}
	if err := errors.Join(g.Wait(), l.await(ctx, from+n)); err != nil {
		return err
	}
	took := make(samples, n)
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range took {
		took[k] = micros(l.verdicts[from+k].Sub(due(k)))
	}
	took = took.sorted()
	res.Timed, res.P50, res.P99 = n, took.at(.5)/1000, took.at(.99)/1000
	return nil
}
