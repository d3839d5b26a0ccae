package main

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
	"jianguo/ingest"
)

// inFlight limits the items that wait for their outcome.
const inFlight = 2048

// outcomeWait is the time after which an item without outcome is published again.
// Publishing twice is safe: the second delivery changes nothing.
const outcomeWait = 60 * time.Second

// storeWait is how long the bus may take to store an item before it is published again.
const storeWait = 10 * time.Second

const publishTries = 3

// publisher publishes items on a bus, in their order, and waits for the outcome of each.
type publisher struct {
	*ingest.Publisher
	items errgroup.Group // waits for an item each
	mu    sync.Mutex     // held while done runs
	done  func(line int, o *ingest.Outcome, err error)
}

func newPublisher(js jetstream.JetStream, done func(line int, o *ingest.Outcome, err error)) (*publisher, error) {
	p := &publisher{done: done}
	p.items.SetLimit(inFlight)
	var err error
	p.Publisher, err = ingest.NewPublisher(js)
	return p, err
}

// publish sends one item; it waits while inFlight items have no outcome yet.
func (p *publisher) publish(ctx context.Context, line int, payload []byte) error {
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
func (p *publisher) outcome(ctx context.Context, payload []byte, await func(context.Context) (*ingest.Outcome, error), err error) (o *ingest.Outcome, _ error) {
	for tries := 1; ; tries++ {
		if err == nil {
			within, cancel := context.WithTimeoutCause(ctx, outcomeWait, fmt.Errorf("no verdict within %v", outcomeWait))
			o, err = await(within)
			cancel()
		}
		if err == nil || tries == publishTries || errors.Is(err, nats.ErrMaxPayload) {
			return o, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(tries) * time.Second):
		}
		await, err = p.Publish(bus.SubjectPublish, payload)
	}
}

// wait returns when every item has its outcome, or the context of publish ends.
func (p *publisher) wait() error { return p.items.Wait() }
