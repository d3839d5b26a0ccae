package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/index"
)

// Several services may take the same items from an external bus, each with a catalogue of its own. All come to the same
// events; one of them publishes, and the others compare.

// takeOver is how long the stream may have no event that this catalogue has, until the outbox publishes.
const takeOver = time.Second

// begin is resume at the start. Where there may be other services, the error is errOthers until it is known that there are
// none: the one that publishes goes on with it, and what this one has judged since its start is compared.
func (o *outbox) begin(ctx context.Context) (uint64, error) {
	after, err := o.resume(ctx)
	if err == nil && o.catchesUp != nil {
		return min(after, o.began), errOthers
	}
	return after, err
}

// warn says that events were not published, unless another service publishes them.
func (o *outbox) warn(ctx context.Context, after uint64, err error) {
	if api := new(jetstream.APIError); !errors.Is(err, errOthers) && (o.catchesUp == nil || !errors.As(err, &api) || api.ErrorCode != wrongLastSequence) {
		o.log.WarnContext(ctx, "events not published, trying again", "after", after, "error", err)
	}
}

// resumeAfter is resume. The error is errOthers if the stream has events after the last one that this outbox
// knows of.
func (o *outbox) resumeAfter(ctx context.Context, after uint64) (uint64, error) {
	next, err := o.resume(ctx)
	switch {
	case err != nil:
		return after, err
	case o.catchesUp != nil && next > after:
		return after, errOthers
	}
	return next, nil
}

// follow compares the events after a number with those of the catalogue, until no other service publishes any more.
// It returns the number of the last one.
func (o *outbox) follow(ctx context.Context, done <-chan struct{}, after uint64) (uint64, error) {
	o.log.DebugContext(ctx, "comparing the events of other services", "after", after)
	stream, err := o.js.Stream(ctx, o.stream)
	if err != nil {
		return after, fmt.Errorf("ingest: stream %s: %w", o.stream, err)
	}
	ended := make(chan struct{})
	defer close(ended)
	// Messages of others may stand between events: an event's number is its sequence at most.
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1})
	if err != nil {
		return after, fmt.Errorf("ingest: stream %s: %w", o.stream, err)
	}
	messages := make(chan jetstream.Msg)
	subscription, err := consumer.Consume(func(m jetstream.Msg) {
		select {
		case messages <- m:
		case <-ended:
		}
	}, jetstream.PullHeartbeat(heartbeat), jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { o.log.DebugContext(ctx, "events", "error", err) }))
	if err != nil {
		return after, fmt.Errorf("ingest: stream %s: %w", o.stream, err)
	}
	defer subscription.Stop()
	var own []index.Event
	for {
		late := time.NewTimer(takeOver)
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
			if own, err = o.await(ctx, done, own, number); err != nil || len(own) == 0 {
				return after, err
			}
			if err := compare(&own[0], m.Data()); err != nil {
				return after, err
			}
			after, own = number, own[1:]
		case <-late.C:
			if _, last := o.index.Applied(); last > after {
				o.log.InfoContext(ctx, "no other service publishes events any more; publishing", "after", after)
				return o.resumeAfter(ctx, after)
			}
			if o.lost.Load() {
				return after, errOthers
			}
		}
	}
}

// compareLast compares the last event of the stream with that of the catalogue, if it has one of the number.
func (o *outbox) compareLast(ctx context.Context, number uint64, published []byte) error {
	if o.catchesUp == nil {
		return nil
	}
	own, err := o.index.Events(ctx, number-1, 1)
	if err != nil || len(own) == 0 {
		return err
	}
	return compare(&own[0], published)
}

// compare returns errDiffers if two services came to different events. Their reasons and recipes may differ: one of them
// may be of a newer version.
func compare(own *index.Event, published []byte) error {
	var e index.Event
	if err := json.Unmarshal(published, &e); err != nil {
		return fmt.Errorf("ingest: event %d cannot be read: %w", own.Number, err)
	}
	if e.Number != own.Number || e.ID != own.ID || e.Revision != own.Revision || e.Verdict != own.Verdict || e.Cause != own.Cause || e.Cluster != own.Cluster || e.Of != own.Of {
		return fmt.Errorf("ingest: event %d says %q is %s in cluster %d, and the catalogue, %q is %s in cluster %d: %w",
			e.Number, e.ID, e.Verdict, e.Cluster, own.ID, own.Verdict, own.Cluster, errDiffers)
	}
	return nil
}

// await returns events of the catalogue from a number on, once there are any; own, if it begins there. It returns none
// once done is closed.
func (o *outbox) await(ctx context.Context, done <-chan struct{}, own []index.Event, number uint64) ([]index.Event, error) {
	for len(own) > 0 && own[0].Number < number {
		own = own[1:]
	}
	for len(own) == 0 {
		var err error
		if own, err = o.index.Events(ctx, number-1, outboxBatch); err != nil || len(own) > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-done:
			return nil, nil
		case <-o.kick:
		case <-time.After(50 * time.Millisecond):
		}
	}
	return own, nil
}
