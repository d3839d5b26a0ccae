package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"jianguo/bus"
	"jianguo/internal/clock"
)

// maxInFlight limits the items that wait for their outcome.
const maxInFlight = 2048

// outcomeWait is the time after which an item without outcome is published again.
// Publishing twice is safe: the second delivery changes nothing.
const outcomeWait = 60 * time.Second

// storeWait is how long the bus may take to store an item before it is published again.
const storeWait = 10 * time.Second

const publishTries = 3

var errNoVerdict = fmt.Errorf("no verdict within %v", outcomeWait)

// Feed publishes items on a bus, in their order, and waits for the outcome of each.
type Feed struct {
	*Publisher
	items errgroup.Group // waits for an item each
	mu    sync.Mutex     // held while done runs
	done  func(line int, o *Outcome, err error)
}

// NewFeed makes a Feed. done is called with the outcome of each item, one at a time; line is that of Add.
func NewFeed(conn *nats.Conn, done func(line int, o *Outcome, err error)) (*Feed, error) {
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*maxInFlight),
		jetstream.WithPublishAsyncTimeout(storeWait))
	if err != nil {
		return nil, err
	}
	p := &Feed{done: done}
	p.items.SetLimit(maxInFlight)
	p.Publisher, err = NewPublisher(js)
	return p, err
}

// Add sends one item; it waits while maxInFlight items have no outcome yet.
func (p *Feed) Add(ctx context.Context, line int, payload []byte) error {
	outcome, err := p.Publish(bus.SubjectPublish, payload)
	p.items.Go(func() error {
		o, err := p.outcome(ctx, payload, outcome, err)
		if ctx.Err() == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.done(line, o, err)
		}
		return ctx.Err()
	})
	return ctx.Err()
}

// outcome waits for the outcome of an item. After a failure of the bus it sends the item
// again, up to publishTries times in all.
func (p *Feed) outcome(ctx context.Context, payload []byte, await func(context.Context) (*Outcome, error),
	err error) (o *Outcome, _ error) {
	for tries := 1; ; tries++ {
		if err == nil {
			within, cancel := context.WithTimeoutCause(ctx, outcomeWait, errNoVerdict)
			o, err = await(within)
			cancel()
		}
		if err == nil || tries == publishTries || errors.Is(err, nats.ErrMaxPayload) {
			return o, err
		}
		if err := clock.Sleep(ctx, time.Duration(tries)*time.Second); err != nil {
			return nil, err
		}
		await, err = p.Publish(bus.SubjectPublish, payload)
	}
}

// Wait returns when every item has its outcome, or the context of Add ends.
func (p *Feed) Wait() error { return p.items.Wait() }
