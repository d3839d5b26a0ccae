package exposure

import (
	"context"
	"slices"

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
		return s.evidence(ctx, user, scene, s.story(item)).Explain()
	})
}

// story lists an item and the others of its story.
func (s *Store) story(item string) []string {
	if s.cfg.Stories == nil {
		return []string{item}
	}
	return append([]string{item}, s.cfg.Stories.Others(item)...)
}

// evidence is what states and the old store hold of items, as a filter would find it. Package must ends it.
func (s *Store) evidence(ctx context.Context, user, scene string, items []string) *trace.Evidence {
	must.Do(s.checkQuery(user, scene, items))
	ev, asksOld := new(trace.Evidence), false
	for _, history := range s.scene(scene).Reads {
		for users, i := []string{user}, 0; i < len(users); i++ {
			h := s.queryIn(ctx, history, users[i], items)
			ev.Histories = append(ev.Histories, h)
			asksOld = asksOld || i == 0 && history == "" && !h.Imported
			users = state.Union(users, h.Linked)
		}
	}
	if old := s.cfg.Old; old != nil && (asksOld || old.Shadow && slices.Contains(s.scene(scene).Reads, "")) {
		var err error
		ev.Old, err = old.History(ctx, user)
		ev.Shadow, ev.Late = old.Shadow, err != nil
	}
	return ev
}

// UserHash stands for a user in logs.
func (s *Store) UserHash(user string) string { return wire.UserHash(&s.secret, user) }

// traceReport records an event of the log.
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
		evidence := func(items []string) (*trace.Evidence, error) {
			return must.Try(func() *trace.Evidence { return s.evidence(ctx, r.User, r.Scene, items) })
		}
		l.Answer(&r.answer, o, evidence, s.story)
		s.Traces.End(l)
	}
}
