package exposure

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
	"jianguo/internal/must"
	"jianguo/internal/streams"
)

// flushLoop writes when enough is unflushed or the oldest of it is old enough.
func (s *writer) flushLoop(ctx context.Context) {
	tick := time.NewTicker(max(s.cfg.FlushAge/8, 5*time.Millisecond))
	defer tick.Stop()
	idle := time.NewTicker(eventlog.ErasureDelay / 24)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-idle.C: // without new events there are no flushes
			s.release(ctx)
			_, err := s.db.write.ExecContext(ctx, putMeta, "clock", s.cfg.Clock().Unix())
			if err != nil && ctx.Err() == nil {
				s.cfg.Logger.Warn("exposure: time not written", "err", err)
			}
			continue
		case <-s.kick:
		case <-tick.C:
			oldest := s.oldest.Load()
			if oldest == nil || time.Since(*oldest) < s.cfg.FlushAge {
				continue
			}
		}
		// Swept users are due although no key is unflushed.
		if err := s.flush(ctx); err != nil {
			return
		}
	}
}

// flush writes all users changed since the last one, and the sequence they were
// changed up to, in one transaction. A user changed again while it runs is written
// as it was when it began, so that file and sequence always agree exactly.
func (s *writer) flush(ctx context.Context) error {
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	// A flush that failed has dropped its users' changes. One that waited for this lock
	// meanwhile, or that Close asks for, would write a sequence that includes them.
	if s.lost != nil {
		return s.lost
	}
	if err := s.Err(); err != nil && !errors.Is(err, ErrClosed) {
		return err
	}
	started := time.Now()

	s.applyMu.Lock()
	list, forgotten := s.dirty, s.forgotten
	s.dirty, s.forgotten = nil, nil
	gen, at, n := s.gen, streams.Point{Seq: s.applied.Seq(), Logged: s.logged}, s.unflushed.Load()
	s.gen++
	s.oldest.Store(nil)
	s.applyMu.Unlock()
	if len(list) == 0 && n == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b *entry) int {
		return cmp.Or(strings.Compare(a.addr.History, b.addr.History), strings.Compare(a.addr.User, b.addr.User))
	})
	s.Traces.Save(context.WithoutCancel(ctx)) // reports that are in the file are not read again
	written, err := must.Try(func() int { return s.writeAll(list, forgotten, gen, at) })
	if err != nil {
		err = fmt.Errorf("exposure: flush up to %d: %w", at.Seq, err)
		s.lost = err
		s.fail(err)
		return err
	}
	s.afterFlush(list)
	s.flushed.Store(at.Seq)
	s.unflushed.Add(-n)
	s.metrics.flushes.Observe(time.Since(started).Seconds())
	s.metrics.flushedUsers.Add(float64(len(list)))
	s.metrics.flushedBytes.Add(float64(written))
	s.release(context.WithoutCancel(ctx))
	return nil
}

// release lets the log forget what is in the file.
func (s *writer) release(ctx context.Context) {
	if err := s.cfg.Log.Release(ctx, s.flushed.Load()); err != nil && ctx.Err() == nil {
		s.cfg.Logger.Warn("exposure: log keeps entries that are in the file", "err", err)
	}
}

// flushTx is the transaction of one flush. Its methods panic on errors (must).
type flushTx struct{ *sql.Tx }

func (f flushTx) exec(text string, args ...any) { must.Get(f.Exec(text, args...)) }

// writeAll returns how many bytes it has written. It panics on errors (must).
func (s *writer) writeAll(list []*entry, forgotten []string, gen uint64, at streams.Point) (written int) {
	must.Do(s.cfg.Fail("flush-begin"))
	ctx := context.Background() // a flush that began is finished, even if its caller has stopped waiting
	tx := must.Get(s.db.write.BeginTx(ctx, nil))
	defer tx.Rollback()
	f := flushTx{tx}
	for _, e := range list {
		must.Dof(must.Catch(func() {
			snap := s.imageOf(e, gen)
			f.put(e.addr, snap)
			written += snap.Size()
			must.Do(s.cfg.Fail("flush-write"))
			s.metrics.stateBytes.Observe(float64(len(snap.Head)))
		}), "user %q", e.addr)
	}
	for _, user := range forgotten {
		// Nothing else tells VerifyFile that there may be shards of a head that could not be read.
		f.exec("UPDATE quarantine SET user = '', head = '', reason = 'forgotten' WHERE user = ?", user)
	}
	f.exec(putMeta, "applied", strconv.FormatUint(at.Seq, 10))
	f.exec(putMeta, "logged", at.String())
	f.exec(putMeta, "clock", s.cfg.Clock().Unix())
	// A file that is ahead of a log that lost its end would skip the events that get these
	// sequences next.
	must.Do(s.cfg.Log.Synced(ctx, at.Seq))
	must.Do(s.cfg.Fail("flush-commit"))
	must.Do(tx.Commit())
	must.Do(s.cfg.Fail("flush-committed"))
	return written
}

// imageOf is the image of an entry as it was when the flush began.
func (s *writer) imageOf(e *entry, gen uint64) *state.Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	if snap := e.frozen; snap != nil {
		e.frozen = nil
		return snap
	}
	if e.gen == gen {
		e.gen = 0
	}
	return e.st.Snapshot(e.addr, s.nextShard)
}

func (f flushTx) put(addr state.Address, snap *state.Snapshot) {
	if snap.Corrupt != "" {
		f.exec("INSERT INTO quarantine SELECT history, user, head, ? FROM user WHERE history = ? AND user = ?",
			snap.Corrupt, addr.History, addr.User)
	}
	for _, id := range snap.Freed {
		f.exec("DELETE FROM shard WHERE id = ?", id)
	}
	for id, data := range snap.Shards {
		f.exec("INSERT INTO shard VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data", id, data)
	}
	if snap.Head == nil {
		f.exec("DELETE FROM user WHERE history = ? AND user = ?", addr.History, addr.User)
		return
	}
	f.exec("INSERT INTO user VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET head = excluded.head",
		addr.History, addr.User, snap.Head)
}

// afterFlush releases the entries. Users without requests leave memory at once, so that a
// stream of reports does not evict users that have requests.
func (s *writer) afterFlush(list []*entry) {
	for _, e := range list {
		e.mu.Lock()
		idle := e.gen == 0 && e.hits == 0
		if idle {
			e.st = nil
		}
		s.cache.Load().unlockAndRelease(e, !idle)
	}
}
