package exposure

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"jianguo/exposure/state"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wait"
)

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
	for wait.For(ctx, time.Second*sweepBatch/time.Duration(s.cfg.SweepRate)) == nil {
		var err error
		if after, err = s.sweep(ctx, after, sweepBatch); err != nil && ctx.Err() == nil {
			s.cfg.Logger.Warn("exposure: sweep", "err", err)
		}
		if after == (state.Address{}) && err == nil {
			_ = wait.For(ctx, s.cfg.SweepRest)
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
				if st, err := state.DecodeHead(head, last); err == nil && st.Stale(pol, now) {
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
	err := s.change(ctx, addr.History, addr.User, func(e *entry, _ *rows) error {
		if !e.st.Stale(e.pol, now) { // an event came meanwhile
			return nil
		}
		if e.st.Expire(e.pol, now) {
			unlink = e.st.Links.Into
		}
		s.metrics.swept.Inc()
		return nil
	})
	s.oldest.CompareAndSwap(0, time.Now().UnixNano())
	for _, into := range unlink {
		for _, ev := range []*event{
			{user: into, Event: state.Event{Kind: Unlink, From: addr.User}},
			{user: addr.User, Event: state.Event{Kind: Unlinked, From: into}},
		} {
			_, failed := s.apply(ctx, addr.History, ev)
			err = errors.Join(err, failed)
		}
	}
	return err
}
