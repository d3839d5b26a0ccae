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

// maxInFlight limits the items that wait for their outcome, which are as many as a service works on at a time: what
// others publish, and decisions of editors, wait behind them.
const maxInFlight = 512

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
	mu    sync.Mutex     // held while a done of Add runs
}

func NewFeed(conn *nats.Conn) (*Feed, error) {
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*maxInFlight),
		jetstream.WithPublishAsyncTimeout(storeWait))
	if err != nil {
		return nil, err
	}
	p := new(Feed)
	p.items.SetLimit(maxInFlight)
	p.Publisher, err = NewPublisher(js)
	return p, err
}

// Add sends one item; it waits while maxInFlight items have no outcome yet. Each done is called with the outcome of its
// item, one at a time.
func (p *Feed) Add(ctx context.Context, payload []byte, done func(o *Outcome, err error)) error {
	outcome, err := p.Publish(bus.SubjectPublish, payload)
	p.items.Go(func() error {
		o, err := p.outcome(ctx, payload, outcome, err)
		if ctx.Err() == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			done(o, err)
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
