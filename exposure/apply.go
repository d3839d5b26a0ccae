package exposure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"
)

// segmentOf spreads addresses over the cache.
func (s *Store) segmentOf(addr []byte) *segment { return &s.cache.Load()[xxh3.Hash(addr)%segments] }

// history is the history a scene belongs to.
func (s *Store) history(scene string) string { return s.cfg.Scenes[scene] }

// apply changes the state by one entry of the log. Only the consumer calls it.
func (s *Store) apply(ctx context.Context, e Entry) error {
	s.applyMu.Lock()
	err := s.applyLocked(ctx, e)
	s.applyMu.Unlock()
	if errors.Is(err, errStopped) {
		return err
	}
	return nil
}

var errStopped = errors.New("exposure: stopped")

// applyLocked returns errStopped when the entry has not been applied and must be
// seen again; any other error is final and belongs to whoever sent the event.
func (s *Store) applyLocked(ctx context.Context, e Entry) error {
	if e.Seq <= s.applied.Load() {
		return nil
	}
	kind, ok := kindOfSubject(e.Subject)
	if !ok {
		return s.refuse(ctx, e, fmt.Errorf("exposure: subject %s means nothing here", e.Subject))
	}
	m := &s.msg
	at, err := s.decodeEvent(m, kind, e.Data)
	if err != nil {
		return s.refuse(ctx, e, err)
	}
	if p := Partition(m.user, s.cfg.Partitions); p != s.cfg.Partition {
		if e.Subject != subjectPrefix+kind.String() {
			return s.refuse(ctx, e, fmt.Errorf("%w: the user's is %d of %d", ErrPartition, p, s.cfg.Partitions))
		}
		subject := fmt.Sprintf("%s%s.%d", subjectPrefix, kind, p)
		var never error
		if err := s.insist(ctx, "route an event", func() error {
			err := s.cfg.Log.Route(ctx, e, subject)
			if errors.Is(err, errTooLong) {
				never, err = err, nil
			}
			return err
		}); err != nil {
			return err
		}
		if never != nil {
			return s.refuse(ctx, e, never)
		}
		s.advance(e.Seq, 0, nil)
		return nil
	}
	// A router that crashed routes again what its file does not know of, behind
	// events that came meanwhile and may have undone it.
	if e.Origin != 0 && e.Origin <= s.routed {
		s.advance(e.Seq, 0, nil)
		return nil
	}
	s.metrics.events[kind].Inc()
	now := e.Time.In(s.cfg.Location)
	if kind == Forget {
		err = s.applyForget(ctx, m.user)
	} else {
		err = s.applyItems(ctx, kind, m, at, now)
		if err == nil && kind == Seen {
			s.popular.add(m, now)
		}
	}
	if err != nil && !errors.Is(err, ErrExceptions) {
		if ctx.Err() == nil {
			s.fail(err)
		}
		return fmt.Errorf("%w: %w", errStopped, err)
	}
	s.routed = max(s.routed, e.Origin)
	s.advance(e.Seq, len(m.spans), err)
	return err
}

// advance makes an event count as applied and wakes those who wait for it, with what
// became of it.
func (s *Store) advance(seq uint64, keys int, outcome error) {
	s.waitMu.Lock()
	if outcome != nil {
		if len(s.refused) >= 4096 { // nobody came for these: plain publishers
			clear(s.refused)
		}
		s.refused[seq] = outcome
	}
	s.applied.Store(seq)
	for _, ch := range s.waiters[seq] {
		close(ch)
	}
	delete(s.waiters, seq)
	s.waitMu.Unlock()
	s.oldest.CompareAndSwap(0, time.Now().UnixNano())
	if n := s.unflushed.Add(int64(max(keys, 1))); n >= int64(s.cfg.MaxUnflushed)/2 {
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
}

// refuse sets an entry aside that will never be applicable.
func (s *Store) refuse(ctx context.Context, e Entry, reason error) error {
	s.metrics.dead.Inc()
	s.cfg.Logger.Warn("exposure: event refused", "seq", e.Seq, "subject", e.Subject, "err", reason)
	if s.cfg.Dead != nil {
		user := userOf(e.Data)
		if err := s.insist(ctx, "keep a refused event", func() error { return s.cfg.Dead(ctx, e, user, reason) }); err != nil {
			return err
		}
	}
	s.advance(e.Seq, 0, reason)
	return reason
}

// insist does what must have happened before an entry counts as applied, until it
// has.
func (s *Store) insist(ctx context.Context, what string, do func() error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			s.cfg.Logger.Error("exposure: events wait, trying again", "to", what, "err", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s: %w", errStopped, what, err)
		case <-time.After(wait):
		}
	}
}

// userOf is the user that a refused event names, as far as one can tell.
func userOf(data []byte) string {
	var v struct {
		User json.RawMessage `json:"user"`
	}
	if json.Unmarshal(data, &v) != nil || v.User == nil {
		return ""
	}
	user, err := stringToken("user", v.User)
	if err != nil {
		return ""
	}
	return user
}

func (s *Store) decodeEvent(m *message, kind EventKind, data []byte) (at time.Time, err error) {
	if err := m.decode(data); err != nil {
		return at, err
	}
	if err := checkName("user", m.user, true); err != nil {
		return at, err
	}
	if kind != Forget && len(m.spans) == 0 {
		return at, invalid("items", "is empty")
	}
	return eventTime(m.at)
}

// applyItems applies a delivered, seen or unsee event. Where the user's row has not
// been read, the first two wait beside it: they need not know it.
func (s *Store) applyItems(ctx context.Context, kind EventKind, m *message, at, now time.Time) error {
	history := s.history(m.scene)
	pol := s.policies[history]
	at = pol.clamp(at, now)
	m.hash(seedOf(&s.secret, m.user))
	addr := []byte(address(history, m.user))
	g := s.segmentOf(addr)
	e, _ := g.acquire(addr, pol)
	e.mu.Lock()
	s.due(g, e)
	r := s.db.rows(ctx)
	var err error
	if kind == Unsee {
		if err = s.loadOrQuarantine(e, r); err == nil {
			err = e.st.unsee(pol, m.keys, now, r.fetch)
		}
	} else if e.st == nil {
		for _, k := range m.keys {
			e.pending = append(e.pending, op{at.Unix(), now.Unix(), k, kind})
		}
	} else if kind == Delivered {
		e.st.deliver(pol, m.keys, at, now)
	} else {
		err = e.st.see(pol, m.keys, at, now, r.fetch)
	}
	w := e.weigh()
	e.mu.Unlock()
	g.release(e, w, true)
	return err
}

// applyForget removes a user from every history.
func (s *Store) applyForget(ctx context.Context, user string) error {
	if s.cfg.Forgotten != nil {
		if err := s.insist(ctx, "forget a user elsewhere", func() error { return s.cfg.Forgotten(ctx, user) }); err != nil {
			return err
		}
	}
	for history, pol := range s.policies {
		addr := []byte(address(history, user))
		g := s.segmentOf(addr)
		e, _ := g.acquire(addr, pol)
		e.mu.Lock()
		s.due(g, e)
		err := s.loadOrQuarantine(e, s.db.rows(ctx))
		if err == nil {
			e.st.reset()
		}
		w := e.weigh()
		e.mu.Unlock()
		g.release(e, w, true)
		if err != nil {
			return err
		}
	}
	s.forgotten = append(s.forgotten, user)
	return nil
}

// due enters an entry into the next flush, setting aside first what the running one
// has yet to write. The caller holds applyMu and e.mu.
func (s *Store) due(g *segment, e *entry) {
	if e.gen == s.gen {
		return
	}
	if e.gen != 0 {
		e.freeze(s)
	}
	e.gen = s.gen
	s.dirty = append(s.dirty, e)
	g.pin(e)
}

func (s *Store) wakeAll() {
	s.waitMu.Lock()
	for seq, chs := range s.waiters {
		for _, ch := range chs {
			close(ch)
		}
		delete(s.waiters, seq)
	}
	s.waitMu.Unlock()
	s.makeRoom()
}

// waitApplied waits until an entry has been applied and returns its outcome.
func (s *Store) waitApplied(ctx context.Context, seq uint64) error {
	for {
		s.waitMu.Lock()
		if s.applied.Load() >= seq {
			outcome := s.refused[seq]
			delete(s.refused, seq)
			s.waitMu.Unlock()
			return outcome
		}
		if err := s.Err(); err != nil {
			s.waitMu.Unlock()
			return fmt.Errorf("exposure: event %d is logged but not applied: %w", seq, err)
		}
		ch := make(chan struct{})
		s.waiters[seq] = append(s.waiters[seq], ch)
		s.waitMu.Unlock()
		select {
		case <-ch: // applied, or the store failed, and may even have been healed
		case <-ctx.Done():
			return fmt.Errorf("exposure: event %d is logged but not yet applied: %w", seq, ctx.Err())
		}
	}
}

// waitRoom blocks the consumer while too much is unflushed.
func (s *Store) waitRoom(ctx context.Context) error {
	for s.unflushed.Load() >= int64(s.cfg.MaxUnflushed) {
		s.roomMu.Lock()
		room := s.room
		s.roomMu.Unlock()
		if s.unflushed.Load() < int64(s.cfg.MaxUnflushed) {
			break
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

func (s *Store) makeRoom() {
	s.roomMu.Lock()
	close(s.room)
	s.room = make(chan struct{})
	s.roomMu.Unlock()
}
