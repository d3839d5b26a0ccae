package exposure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
	"jianguo/internal/must"
	"jianguo/internal/wait"
)

// writer changes users' states: it applies the events of the log and writes flushes. It is
// the one owner of the log.
type writer struct {
	*core
	*progress
	popular *popularCounts
	fail    func(error) // stops the store

	applyMu sync.Mutex
	gen     uint64     // applyMu; number of the next flush
	dirty   []*entry   // applyMu; entries due in it, each pinned
	event   wire.Query // applyMu; the event being applied
	keys    []uint32   // applyMu; its keys
	// applyMu; users forgotten since the last flush, whose quarantined rows go too
	forgotten []string

	flushMu sync.Mutex // one flush at a time
	lost    error      // flushMu; why a flush failed: its users' changes are only in the log
}

// apply changes the state by one entry of the log. Only the consumer calls it.
func (s *writer) apply(ctx context.Context, e eventlog.Entry) error {
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	if err := s.applyLocked(ctx, e); errors.Is(err, errStopped) {
		return err
	}
	return nil
}

var errStopped = errors.New("exposure: stopped")

// lostEvents says that the log no longer holds the events between two sequences.
func (s *writer) lostEvents(applied, next uint64) {
	s.metrics.lost.Add(float64(next - applied - 1))
	s.cfg.Logger.Error("exposure: events that were not applied have left the log: what they reported may be shown again",
		"lost", next-applied-1, "first", applied+1, "last", next-1)
}

// applyLocked returns errStopped when the entry has not been applied and must be applied
// later. Any other error is final, and is the outcome of the event.
func (s *writer) applyLocked(ctx context.Context, e eventlog.Entry) error {
	applied := s.applied.Load()
	if e.Seq <= applied {
		return nil
	}
	if e.Seq > applied+1 {
		s.lostEvents(applied, e.Seq)
	}
	q, at := &s.event, time.Time{}
	kind, err := s.kindOf(e.Subject)
	if err == nil {
		at, err = decodeEvent(q, kind, e.Data)
	}
	if err != nil {
		return s.refuse(ctx, e, err)
	}
	s.metrics.events.WithLabelValues(string(kind)).Inc()
	// An event counts when it was logged. Nothing expires because of a log whose clock is wrong.
	logged, now := e.Time.In(s.cfg.Location), s.cfg.Clock().In(s.cfg.Location)
	if logged.Before(now) {
		now = logged
	}
	if kind == Linked || kind == Unlinked {
		return s.refuse(ctx, e, wire.Invalidf("kind", "is %q, which only a shared store has", string(kind)))
	}
	err = must.Catch(func() {
		switch kind {
		case Forget:
			s.applyForget(ctx, q.User)
		case Imported:
			s.applyImported(ctx, q.User, logged, now)
		case Link, Unlink:
			s.applyLink(ctx, kind, q.User, q.From, logged, now)
		case Unsee:
			s.applyUnsee(ctx, q, now)
		default:
			s.applyItems(ctx, kind, q, at, logged, now)
		}
	})
	if err != nil && !errors.Is(err, ErrExceptions) && !errors.Is(err, ErrLink) {
		if ctx.Err() == nil {
			s.fail(err)
		}
		return fmt.Errorf("%w: %w", errStopped, err)
	}
	s.traceReport(e, string(kind), q, err)
	s.advance(e.Seq, q.Len(), err)
	return err
}

// setAside keeps an entry that can never be applied.
func (s *writer) setAside(ctx context.Context, e eventlog.Entry, reason error) error {
	s.metrics.dead.Inc()
	s.cfg.Logger.Warn("exposure: event refused", "seq", e.Seq, "subject", e.Subject, "err", reason)
	if s.cfg.Dead == nil {
		return nil
	}
	user := wire.UserOf(e.Data)
	return s.insist(ctx, "keep a refused event", func() error { return s.cfg.Dead(ctx, e, user, reason) })
}

// refuse sets an entry aside, with that as its outcome.
func (s *writer) refuse(ctx context.Context, e eventlog.Entry, reason error) error {
	if err := s.setAside(ctx, e, reason); err != nil {
		return err
	}
	s.traceReport(e, e.Subject, &wire.Query{User: wire.UserOf(e.Data)}, reason)
	s.advance(e.Seq, 0, reason)
	return reason
}

// insist tries again until it has done what must happen before an entry counts as applied.
func (s *writer) insist(ctx context.Context, what string, do func() error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			s.cfg.Logger.Error("exposure: events wait, trying again", "to", what, "err", err)
		}
		if wait.For(ctx, pause) != nil {
			return fmt.Errorf("%w: %s: %w", errStopped, what, err)
		}
	}
}

func decodeEvent(q *wire.Query, kind EventKind, data []byte) (at time.Time, err error) {
	if err := q.Decode(data); err != nil {
		return at, err
	}
	if err := wire.CheckName("user", q.User, true); err != nil {
		return at, err
	}
	switch {
	case kind.Links():
		return at, checkFrom(q.User, q.From)
	case kind.Items() && q.Len() == 0:
		return at, wire.Invalidf("items", "is empty")
	}
	return eventTime(q.At)
}

// What follows, and the functions of links.go, package must ends.

// applyItems applies a report to the histories that its scene writes and that keep its kind.
func (s *writer) applyItems(ctx context.Context, kind EventKind, q *wire.Query, at, logged, now time.Time) {
	s.keys = q.Keys(s.keys, wire.Seed(&s.secret, q.User))
	for _, history := range s.scene(q.Scene).Writes {
		if slices.Contains(s.keeps[history], string(kind)) {
			s.add(ctx, history, q.User, kind == Delivered, s.policies[history].Clamp(at, logged), now)
		}
	}
	if kind == Seen {
		s.popular.Add(q, at, now)
	}
}

// add adds the keys of an event to a history. While the user's row has not been read, they wait in the entry: they do
// not depend on the row.
func (s *writer) add(ctx context.Context, history, user string, delivered bool, at, now time.Time) {
	s.change(ctx, history, user, func(e *entry, r *rows) {
		if e.st == nil {
			for _, k := range s.keys {
				e.pending = append(e.pending, state.Op{At: at.Unix(), Now: now.Unix(), Key: k, Delivered: delivered})
			}
		} else if delivered {
			e.st.Deliver(e.pol, s.keys, at, now)
		} else {
			must.Do(e.st.See(e.pol, s.keys, at, now, r.fetch))
		}
	})
}

// edit changes the state of a user in a history by other means, which need the row.
func (s *writer) edit(ctx context.Context, history, user string, do func(*state.State, state.Fetcher)) {
	s.change(ctx, history, user, func(e *entry, r *rows) {
		must.Do(s.loadOrQuarantine(e, r))
		defer e.st.Changed()
		do(e.st, r.fetch)
	})
}

// change changes the entry of a user in a history, which the next flush then writes.
func (s *writer) change(ctx context.Context, history, user string, do func(*entry, *rows)) {
	g, e, _ := s.entry(history, []byte(state.Address(history, user)))
	e.mu.Lock()
	defer g.unlock(e, true)
	r := s.db.rows(ctx)
	s.due(g, e, r)
	do(e, r)
}

// due adds an entry to the next flush, after setting aside what the running flush has not
// written yet. The caller holds applyMu and e.mu.
func (s *writer) due(g *stripe, e *entry, r *rows) {
	if e.gen == s.gen {
		return
	}
	if e.gen != 0 {
		must.Do(s.loadOrQuarantine(e, r))
		e.frozen = e.st.Snapshot(e.addr, s.nextShard)
	}
	e.gen = s.gen
	s.dirty = append(s.dirty, e)
	g.pin(e)
}
