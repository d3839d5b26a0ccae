package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Several services may take the same items from an external bus, each with a catalogue of its own. All come to the same
// events; one of them publishes, and the others compare.

// publishAfter is how long another service may take to publish the next event of this catalogue, until the outbox
// publishes it.
const publishAfter = time.Second

// resumeAfter is resume. The error is errOtherPublishes if the stream has events after the last one that this outbox
// knows of.
func (o *outbox) resumeAfter(ctx context.Context, after uint64) (uint64, error) {
	next, err := o.resume(ctx)
	switch {
	case err != nil:
		return after, err
	case o.catchesUp != nil && next > after:
		return after, errOtherPublishes
	}
	return next, nil
}

// compareOthers compares the events that other services publish after a number with those of the catalogue, until none
// publishes any more. It returns the number of the last one.
func (o *outbox) compareOthers(ctx context.Context, done <-chan struct{}, after uint64) (uint64, error) {
	o.log.DebugContext(ctx, "comparing the events of other services", "after", after)
	stream, err := o.js.Stream(ctx, o.stream)
	if err != nil {
		return after, fmt.Errorf("ingest: stream %s: %w", o.stream, err)
	}
	messages, ended := make(chan jetstream.Msg), make(chan struct{})
	defer close(ended)
	// Messages of others may stand between events: an event's number is its sequence at most.
	subscription, err := deliver(ctx, stream, after+1, messages, ended, consumeErrors(ctx, o.log, slog.LevelDebug))
	if err != nil {
		return after, fmt.Errorf("ingest: stream %s: %w", o.stream, err)
	}
	defer subscription.Stop()
	for {
		late := time.NewTimer(publishAfter)
		select {
		case <-ctx.Done():
			return after, ctx.Err()
		case <-done:
			return after, nil // events of its own are in the catalogue
		case m := <-messages:
			late.Stop()
			number := EventNumber(m.Headers(), m.Data())
			if number <= after {
				continue
			}
			if !o.await(ctx, done, number) {
				return after, ctx.Err()
			}
			if err := o.compare(ctx, number, m.Data()); err != nil {
				return after, err
			}
			after = number
		case <-late.C:
			if _, last := o.index.Applied(); last > after {
				o.log.InfoContext(ctx, "no other service publishes events any more; publishing", "after", after)
				return o.resumeAfter(ctx, after)
			}
			if o.lost.Load() {
				return after, errOtherPublishes
			}
		}
	}
}

// await returns true once the catalogue has the event of a number, and false once done is closed or ctx ends.
func (o *outbox) await(ctx context.Context, done <-chan struct{}, number uint64) bool {
	for {
		if _, last := o.index.Applied(); last >= number {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-done:
			return false
		case <-o.woken:
		case <-time.After(50 * time.Millisecond):
		}
	}
}
