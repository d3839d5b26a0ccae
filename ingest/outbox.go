package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/internal/clock"
)

// run publishes until done is closed and nothing is left, or ctx ends.
func (o *outbox) run(ctx context.Context, done <-chan struct{}) error {
	after, err := o.begin(ctx)
	if errors.Is(err, errOlderCopy) {
		return err
	}
	for !errors.Is(err, errDiffers) {
		n := 0
		if errors.Is(err, errOtherPublishes) {
			if after, err = o.compareOthers(ctx, done, after); errors.Is(err, errDiffers) {
				break
			}
			if closed(done) {
				return nil // what is not published is in the catalogue
			}
		}
		if o.lost.Swap(false) {
			after, err = o.resume(ctx)
		}
		if err == nil {
			n, err = o.publish(ctx, after)
			after += uint64(n)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			o.warn(ctx, after, err)
			if clock.Sleep(ctx, 200*time.Millisecond) != nil {
				return nil
			}
			if after, err = o.resumeAfter(ctx, after); closed(done) && !errors.Is(err, errDiffers) {
				// An orderly end does not wait for a bus that is gone: the
				// events are in the catalogue.
				return nil
			}
		case n == 0:
			select {
			case <-o.woken:
			case <-done:
				if _, last := o.index.Applied(); last == after {
					return nil
				}
			case <-ctx.Done():
				return nil
			}
		}
	}
	return err
}

// begin is resume at the start. Where there may be other services, the error is errOtherPublishes until it is known
// that there are none: the one that publishes goes on, and what this one has judged since its start is compared.
func (o *outbox) begin(ctx context.Context) (uint64, error) {
	after, err := o.resume(ctx)
	if err != nil {
		return o.began, err
	}
	if o.catchesUp != nil {
		return min(after, o.began), errOtherPublishes
	}
	return after, nil
}

// warn says once that events were not published, unless another service publishes them.
func (o *outbox) warn(ctx context.Context, after uint64, err error) {
	api := new(jetstream.APIError)
	overtaken := errors.As(err, &api) && api.ErrorCode == wrongLastSequence
	if !errors.Is(err, errOtherPublishes) && (o.catchesUp == nil || !overtaken) && o.warned != err.Error() {
		o.warned = err.Error()
		o.log.WarnContext(ctx, "events not published, trying again", "after", after, "error", err)
	}
}

// wrongLastSequence is JetStream's error code for a message that is not the next one.
const wrongLastSequence jetstream.ErrorCode = 10071

// outboxBatch is how many events are in flight at once.
const outboxBatch = 512

// outboxTimeout is how long they may take. A stream that is closed meanwhile (to reopen
// it, or on an external bus) accepts messages without an answer.
const outboxTimeout = 10 * time.Second

// publish sends the next events and returns how many VERDICTS has stored.
func (o *outbox) publish(ctx context.Context, after uint64) (int, error) {
	events, err := o.index.Events(ctx, after, outboxBatch)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	futures := make([]jetstream.PubAckFuture, len(events))
	for i := range events {
		e, last := &events[i], o.last+uint64(i)
		data, err := json.Marshal(e)
		if err != nil {
			return 0, fmt.Errorf("event %d: %w", e.Number, err)
		}
		subject := bus.SubjectVerdicts + e.Verdict.String()
		futures[i], err = o.js.PublishAsync(subject, data, jetstream.WithExpectLastSequence(last))
		if err != nil {
			return 0, fmt.Errorf("event %d: %w", e.Number, err)
		}
	}
	late := time.NewTimer(outboxTimeout)
	defer late.Stop()
	for i, f := range futures {
		select {
		case <-late.C:
			return i, fmt.Errorf("event %d: no acknowledgement of it for %v", events[i].Number, outboxTimeout)
		case ack := <-f.Ok():
			if o.last++; ack.Sequence != o.last {
				return i, fmt.Errorf("event %d became message %d of %s", events[i].Number, ack.Sequence, o.stream)
			}
		case err := <-f.Err():
			return i, fmt.Errorf("event %d: %w", events[i].Number, err)
		case <-ctx.Done():
			return i, ctx.Err()
		}
	}
	o.warned = ""
	return len(events), nil
}
