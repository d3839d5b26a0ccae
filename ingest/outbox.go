package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
)

// outbox publishes the catalogue's events on VERDICTS, in order, each once.
type outbox struct {
	js    jetstream.JetStream
	index *index.Index
	log   *slog.Logger
	kick  chan struct{}
}

func newOutbox(js jetstream.JetStream, x *index.Index, log *slog.Logger) *outbox {
	return &outbox{js: js, index: x, log: log, kick: make(chan struct{}, 1)}
}

// wake announces new events.
func (o *outbox) wake() {
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

// run publishes until done is closed and nothing is left, or ctx ends.
func (o *outbox) run(ctx context.Context, done <-chan struct{}) error {
	after, err := o.resume(ctx)
	if err != nil {
		return err
	}
	for {
		n, err := o.publish(ctx, after)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			o.log.WarnContext(ctx, "events not published, trying again", "after", after, "error", err)
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
				return nil
			}
			if next, err := o.resume(ctx); err == nil {
				after = next
			}
			select {
			case <-done:
				// An orderly end does not wait for a bus that is gone: the
				// events are in the catalogue.
				return nil
			default:
			}
		case n > 0:
			after += uint64(n)
		default:
			select {
			case <-o.kick:
			case <-o.index.Decided():
			case <-done:
				if _, last := o.index.Applied(); last == after {
					return nil
				}
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// resume returns the number of the last event that VERDICTS holds.
func (o *outbox) resume(ctx context.Context) (uint64, error) {
	stream, err := o.js.Stream(ctx, bus.StreamVerdicts)
	if err != nil {
		return 0, fmt.Errorf("ingest: stream %s: %w", bus.StreamVerdicts, err)
	}
	last := stream.CachedInfo().State.LastSeq
	if _, known := o.index.Applied(); last > known {
		return 0, fmt.Errorf("ingest: the stream %s holds events up to %d, the catalogue ends at %d: the catalogue was put back to an older copy; "+
			"remove the stream, and all events are published again", bus.StreamVerdicts, last, known)
	}
	return last, nil
}

// outboxBatch is how many events are in flight at once.
const outboxBatch = 512

// outboxPatience is how long they may take. A stream that is closed meanwhile (to reopen
// it, or on an external bus) accepts messages without an answer.
const outboxPatience = 10 * time.Second

// publish sends the next events and returns how many VERDICTS has stored.
func (o *outbox) publish(ctx context.Context, after uint64) (int, error) {
	events, err := o.index.Events(ctx, after, outboxBatch)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	futures := make([]jetstream.PubAckFuture, len(events))
	for i := range events {
		e := &events[i]
		data, err := json.Marshal(e)
		if err != nil {
			return 0, fmt.Errorf("event %d: %w", e.Number, err)
		}
		futures[i], err = o.js.PublishAsync(bus.SubjectVerdicts+e.Verdict.String(), data, jetstream.WithExpectLastSequence(e.Number-1))
		if err != nil {
			return 0, fmt.Errorf("event %d: %w", e.Number, err)
		}
	}
	late := time.NewTimer(outboxPatience)
	defer late.Stop()
	for i, f := range futures {
		select {
		case <-late.C:
			return i, fmt.Errorf("event %d: no acknowledgement of it for %v", events[i].Number, outboxPatience)
		case ack := <-f.Ok():
			if ack.Sequence != events[i].Number {
				return i, fmt.Errorf("event %d became message %d of %s", events[i].Number, ack.Sequence, bus.StreamVerdicts)
			}
		case err := <-f.Err():
			return i, fmt.Errorf("event %d: %w", events[i].Number, err)
		case <-ctx.Done():
			return i, ctx.Err()
		}
	}
	return len(events), nil
}
