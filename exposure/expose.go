package exposure

import (
	"context"
	"fmt"
)

// maxEventBytes keeps an event well under what a bus carries in one message; longer
// reports become several events.
const maxEventBytes = 256 << 10

// Expose logs an event and returns when it is durable and applied: every Filter that begins
// later takes it into account. An error that is neither a *wire.Error nor
// ErrFull nor ErrExceptions nor ErrLink leaves open whether the event was logged; reporting it
// again is harmless.
func (s *Store) Expose(ctx context.Context, ev Event) error {
	if err := s.Err(); err != nil {
		return err
	}
	if err := ev.check(); err != nil {
		return err
	}
	if s.fleet != nil {
		return s.fleet.expose(ctx, ev)
	}
	var last uint64
	for from := 0; ; {
		to := ev.chunk(from)
		seq, err := s.cfg.Log.Append(ctx, ev.subject(0), ev.appendPayload(nil, from, to))
		if err == nil {
			err = s.cfg.Fail("appended")
		}
		if err != nil {
			return fmt.Errorf("report for user %q: %w", ev.User, err)
		}
		last = seq
		// An un-see is all or nothing only within one event, so the outcome of each part
		// matters; of other kinds only that of the last.
		if ev.Kind == Unsee {
			if err := s.w.waitApplied(ctx, seq, s.Err); err != nil {
				return err
			}
		}
		if from = to; from >= len(ev.Items) {
			break
		}
	}
	if ev.Kind == Unsee {
		return nil
	}
	return s.w.waitApplied(ctx, last, s.Err)
}

// chunk is the end of the part of the items that begins at from.
func (e *Event) chunk(from int) int {
	size, to := 0, from
	for to < len(e.Items) && (to == from || size+2*len(e.Items[to])+3 <= maxEventBytes) {
		size += 2*len(e.Items[to]) + 3
		to++
	}
	return to
}
