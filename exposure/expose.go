package exposure

import (
	"context"
	"fmt"
	"iter"

	"jianguo/exposure/shared"
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
	p, wait := 0, func(ctx context.Context, _ int, seq uint64) error { return s.w.waitApplied(ctx, seq, s.Err) }
	if s.fleet != nil {
		p, wait = shared.PartitionOf(ev.User), s.fleet.wait
	}
	var last uint64
	for payload := range ev.parts() {
		seq, err := s.cfg.Log.Append(ctx, ev.subject(p), payload)
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
			if err := wait(ctx, p, seq); err != nil {
				return err
			}
		}
	}
	if ev.Kind == Unsee {
		return nil
	}
	return wait(ctx, p, last)
}

// parts are the payloads of an event, each with as many items as fit.
func (e *Event) parts() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for from := 0; ; {
			size, to := 0, from
			for to < len(e.Items) && (to == from || size+2*len(e.Items[to])+3 <= maxEventBytes) {
				size += 2*len(e.Items[to]) + 3
				to++
			}
			if !yield(e.appendPayload(nil, from, to)) || to >= len(e.Items) {
				return
			}
			from = to
		}
	}
}
