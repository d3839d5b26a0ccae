package exposure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
	"jianguo/internal/clock"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/streams"
)

// writer changes users' states in the file: it applies the events of the log and writes flushes. It is
// the one owner of the log.
type writer struct {
	*core
	fail func(error) // stops the store

	applied   eventlog.Applied
	flushed   atomic.Uint64             // last sequence in the file
	unflushed atomic.Int64              // keys of the events between the two
	oldest    atomic.Pointer[time.Time] // when the oldest of them was applied; nil: there is none
	kick      chan struct{}             // asks for a flush

	applyMu sync.Mutex
	gen     uint64     // applyMu; number of the next flush
	logged  int64      // applyMu; when the last entry applied was logged, as in streams.Point
	dirty   []*entry   // applyMu; entries due in it, each pinned
	query   wire.Query // applyMu; of the event being applied
	// applyMu; users forgotten since the last flush, whose quarantined rows go too
	forgotten []string

	flushMu sync.Mutex // one flush at a time
	lost    error      // flushMu; why a flush failed: its users' changes are only in the log
}

// reset begins behind an entry that is in the file.
func (s *writer) reset(at streams.Point) {
	s.logged = at.Logged
	s.applied.Reset(at.Seq)
	s.flushed.Store(at.Seq)
	s.unflushed.Store(0)
	s.oldest.Store(nil)
}

// advance makes an event count as applied, and wakes the requests that wait for it with its
// outcome.
func (s *writer) advance(e eventlog.Entry, keys int, outcome error) {
	var refused map[uint64]error
	if outcome != nil {
		refused = map[uint64]error{e.Seq: outcome}
	}
	s.logged = e.Time.UnixNano()
	s.applied.Advance(e.Seq, refused)
	s.oldest.CompareAndSwap(nil, new(time.Now()))
	if n := s.unflushed.Add(int64(max(keys, 1))); n >= int64(s.cfg.MaxUnflushed)/2 {
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
}

// lostEvents says that the log no longer holds the events between two sequences.
func (s *writer) lostEvents(applied, next uint64) {
	s.metrics.lost.Add(float64(next - applied - 1))
	s.cfg.Logger.Error(
		"exposure: events that were not applied have left the log: what they reported may be shown again",
		"lost", next-applied-1, "first", applied+1, "last", next-1)
}

// consume applies one entry of the log. After an error it has not been applied, and must be later. Only the consumer
// calls it.
func (s *writer) consume(ctx context.Context, e eventlog.Entry) error {
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	applied := s.applied.Seq()
	if e.Seq <= applied {
		return nil
	}
	if e.Seq > applied+1 {
		s.lostEvents(applied, e.Seq)
	}
	ev, err := s.decode(e, &s.query)
	if err != nil {
		return must.Catch(func() {
			s.bury(ctx, e, err)
			s.advance(e, 0, err)
			// It is soon flushed: after a kill it would be set aside again, also if it has been dropped there.
			s.oldest.Store(new(time.Now().Add(-s.cfg.FlushAge)))
		})
	}
	err = s.core.apply(ctx, s, ev, s.historiesOf(ev))
	if err != nil && !refused(err) {
		if ctx.Err() == nil {
			s.fail(err)
		}
		return fmt.Errorf("%w: %w", errStopped, err)
	}
	s.traceReport(e, string(ev.Kind), ev.q, err)
	s.advance(e, ev.q.Len(), err)
	return nil
}

// apply implements states.
func (s *writer) apply(ctx context.Context, history string, ev *logEvent) (links state.Links, err error) {
	if ev.Kind == state.Forget {
		s.forgotten = append(s.forgotten, ev.user)
	}
	err = s.change(ctx, history, ev.user, func(e *entry) error {
		links = e.st.Links
		err := e.st.Apply(e.pol, &ev.Event, s.db.fetch(ctx))
		if errors.Is(err, ErrCorrupt) {
			s.quarantine(e, err)
			err = e.st.Apply(e.pol, &ev.Event, s.db.fetch(ctx))
		}
		return err
	})
	return links, err
}

// linksOf implements states.
func (s *writer) linksOf(ctx context.Context, user string) (all state.Links) {
	for history := range s.policies {
		c, e, known := s.entry(history, user)
		e.mu.Lock()
		err := s.load(ctx, e)
		if err == nil {
			all.Join(e.st.Links)
		}
		c.unlockAndRelease(e, known)
		if !errors.Is(err, ErrCorrupt) { // an event sets that aside
			must.Do(err)
		}
	}
	return all
}

// applyFollowUp implements states. What follows from an event is applied with it, and so again by each replay.
func (s *writer) applyFollowUp(ctx context.Context, ev *logEvent) {
	s.applyUnchecked(ctx, s, ev, s.historiesOf(ev))
}

// change changes the entry of a user in a history, which the next flush then writes.
func (s *writer) change(ctx context.Context, history, user string, do func(*entry) error) error {
	c, e, _ := s.entry(history, user)
	e.mu.Lock()
	defer c.unlockAndRelease(e, true)
	if err := s.load(ctx, e); errors.Is(err, ErrCorrupt) {
		s.quarantine(e, err)
	} else if err != nil {
		return err
	}
	s.scheduleFlush(c, e)
	return do(e)
}

// scheduleFlush adds an entry to the next flush, after setting aside what the running flush has not
// written yet. The caller holds applyMu and e.mu.
func (s *writer) scheduleFlush(c *cache, e *entry) {
	if e.gen == s.gen {
		return
	}
	if e.gen != 0 {
		e.frozen = e.st.Snapshot(e.addr, s.nextShard)
	}
	e.gen = s.gen
	s.dirty = append(s.dirty, e)
	c.mu.Lock()
	e.refs++
	c.mu.Unlock()
}

const (
	sweepBatch = 64        // rows; few enough that no request waits noticeably for them
	sweepGrace = time.Hour // clocks of log and store may differ; expiry is not urgent
)

// sweepLoop walks the file in key order, at a bounded rate, and frees what has
// expired; then it rests. Filters ignore expired keys anyway: this frees their space.
func (s *writer) sweepLoop(ctx context.Context) {
	if s.cfg.SweepRate < 0 {
		return
	}
	var after state.Address
	for clock.Sleep(ctx, time.Second*sweepBatch/time.Duration(s.cfg.SweepRate)) == nil {
		var err error
		if after, err = s.sweep(ctx, after, sweepBatch); err != nil && ctx.Err() == nil {
			s.cfg.Logger.Warn("exposure: sweep", "err", err)
		}
		if after == (state.Address{}) && err == nil {
			_ = clock.Sleep(ctx, s.cfg.SweepRest)
		}
	}
}

// sweep looks at up to n rows after an address and returns the last one, or none at the
// end of the file. It uses the clock, where events carry their own time. So it does nothing
// unless every event logged before now has been applied: one of them may keep a user alive.
func (s *writer) sweep(ctx context.Context, after state.Address, n int) (last state.Address, err error) {
	last = after
	err = must.Catch(func() {
		now := s.cfg.Clock().In(s.cfg.Location).Add(-sweepGrace)
		if log := must.Get(s.cfg.Log.State(ctx)); !s.Ready() || s.applied.Seq() < log.Last {
			return
		}
		var stale []state.Address
		seen := 0
		const next = `SELECT history, user, head FROM user WHERE (history, user) > (?, ?)
			ORDER BY history, user LIMIT ?`
		for rows := range sqlite.Rows(ctx, s.db.read, next, after.History, after.User, n) {
			var head sql.RawBytes
			must.Do(rows.Scan(&last.History, &last.User, &head))
			seen++
			// Without a policy, no scene maps to this history any more: kept, for the operator to decide.
			if pol := s.policies[last.History]; pol != nil {
				// VerifyFile reports a damaged one.
				st, err := state.DecodeHead(head, last)
				if err == nil && st.Adopt(pol, now.Location()).Stale(pol, now) {
					stale = append(stale, last)
				}
			}
		}
		for _, addr := range stale {
			must.Do(s.expire(ctx, addr, now))
		}
		if seen < n {
			last = state.Address{}
		}
	})
	return last, err
}

// expire frees the expired part of one user with the next flush.
func (s *writer) expire(ctx context.Context, addr state.Address, now time.Time) error {
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	var unlink []string
	err := s.change(ctx, addr.History, addr.User, func(e *entry) error {
		if !e.st.Stale(e.pol, now) { // an event came meanwhile
			return nil
		}
		if unlink = e.st.Expire(e.pol, now); len(unlink) > 0 {
			e.st.Links.Into = nil
		}
		s.metrics.swept.Inc()
		return nil
	})
	s.oldest.CompareAndSwap(nil, new(time.Now()))
	for _, into := range unlink {
		ev := &logEvent{user: into, Event: state.Event{Kind: state.Unlink, From: addr.User}}
		_, failed := s.apply(ctx, addr.History, ev)
		err = errors.Join(err, failed)
	}
	return err
}
