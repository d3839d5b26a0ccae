package exposure

import (
	"cmp"
	"context"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
	"jianguo/internal/must"
)

// Explain says what a filter of a scene makes of an item for a user, and why.
func (s *Store) Explain(ctx context.Context, user, item, scene string) (*trace.Explanation, error) {
	return must.Try(func() *trace.Explanation {
		must.Do(wire.CheckName("item", item, true))
		must.Do(s.notReady())
		if len(s.scene(scene).Reads) == 0 {
			return &trace.Explanation{User: user, Item: item, Reasons: []string{"the scene reads no history"},
				Histories: []trace.History{}}
		}
		return s.evidence(ctx, user, scene, s.storyItems(item)).Explain()
	})
}

func (s *Store) storyItems(item string) []string {
	if s.cfg.Stories == nil {
		return []string{item}
	}
	return append([]string{item}, s.cfg.Stories.Others(item)...)
}

// evidence is what states hold of items, as a filter would find it. It panics on errors (must).
func (s *Store) evidence(ctx context.Context, user, scene string, items []string) (ev trace.Evidence) {
	must.Do(s.checkQuery(user, scene, items))
	for _, history := range s.scene(scene).Reads {
		for users, i := []string{user}, 0; i < len(users); i++ {
			h := s.queryIn(ctx, history, users[i], items)
			ev = append(ev, h)
			users = state.Union(users, h.Linked)
		}
	}
	return ev
}

func (s *Store) UserHash(user string) string { return wire.UserHash(&s.secret, user) }

func (s *core) traceReport(e eventlog.Entry, what string, q *wire.Query, outcome error) {
	if l := s.Traces.Begin(q.User, what); l != nil {
		l.Report(e, q, outcome)
		s.Traces.End(l)
	}
}

// traceFilter records an answer, and what holds now what it dropped.
func (s *Store) traceFilter(ctx context.Context, r *request, o wire.Outcome) {
	if l := s.Traces.Begin(r.User, "filter"); l != nil {
		ctx = context.WithoutCancel(ctx) // it may have ended
		evidence := func(items []string) (trace.Evidence, error) {
			return must.Try(func() trace.Evidence { return s.evidence(ctx, r.User, r.Scene, items) })
		}
		l.Answer(&r.answer, o, evidence, s.storyItems)
		s.Traces.End(l)
	}
}

// Query describes a user's state in the histories of a scene, those that it writes first, and says for each of the
// items given where it is held.
func (s *Store) Query(ctx context.Context, user, scene string, items []string) (trace.History, error) {
	return must.Try(func() (info trace.History) {
		must.Do(s.checkQuery(user, scene, items))
		var list []trace.History
		for _, history := range s.scene(scene).all() {
			list = append(list, s.queryIn(ctx, history, user, items))
		}
		if len(list) > 0 {
			info = list[0]
			info.Others = list[1:]
		}
		return info
	})
}

func (s *Store) checkQuery(user, scene string, items []string) error {
	if err := cmp.Or(wire.CheckName("user", user, true), wire.CheckName("scene", scene, false)); err != nil {
		return err
	}
	if len(items) > wire.MaxItems {
		return wire.TooLargef("items", "has %d ids, the limit is %d", len(items), wire.MaxItems)
	}
	return s.Err()
}

// queryIn is Query in one history. It panics on errors (must).
func (s *Store) queryIn(ctx context.Context, history, user string, items []string) trace.History {
	pol := s.policies[history]
	c, e, _ := s.entry(history, user)
	if s.fleet != nil {
		if _, _, err := s.fleet.refresh(ctx, e, e.tickets.Add(1), nil, nil); err != nil {
			c.release(e, true)
			must.Do(err)
		}
	}
	e.mu.Lock()
	defer c.unlockAndRelease(e, true)
	must.Do(s.load(ctx, e))
	must.Do(e.st.Need(s.db.fetch(ctx)))
	now := s.cfg.Clock().In(s.cfg.Location)
	info := e.st.Describe(pol, now)
	info.User, info.History, info.Kinds = user, history, s.cfg.Kinds[history]
	v := e.st.View(pol, now, 1)
	seed := wire.Seed(&s.secret, user)
	for _, item := range items {
		info.Items = append(info.Items, e.st.Find(pol, v, now, item, wire.Key([]byte(item), seed)))
	}
	return info
}
