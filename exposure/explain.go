package exposure

import (
	"context"
	"slices"

	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
)

// Explain says what a filter of a scene makes of an item for a user, and why.
func (s *Store) Explain(ctx context.Context, user, item, scene string) (*trace.Explanation, error) {
	if err := wire.CheckName("item", item, true); err != nil {
		return nil, err
	}
	if err := s.notReady(); err != nil {
		return nil, err
	}
	if len(s.scene(scene).Reads) == 0 {
		return &trace.Explanation{User: user, Item: item, Reasons: []string{"the scene reads no history"}, Histories: []trace.History{}}, nil
	}
	items := []string{item}
	if s.cfg.Stories != nil {
		items = append(items, s.cfg.Stories.Others(item)...)
	}
	ev, err := s.evidence(ctx, user, scene, items)
	if err != nil {
		return nil, err
	}
	return ev.Explain(), nil
}

// evidence is what states and the old store hold of items, as a filter would find it.
func (s *Store) evidence(ctx context.Context, user, scene string, items []string) (*trace.Evidence, error) {
	if err := s.checkQuery(user, scene, items); err != nil {
		return nil, err
	}
	ev, asksOld := new(trace.Evidence), false
	for _, history := range s.scene(scene).Reads {
		for users, i := []string{user}, 0; i < len(users); i++ {
			h, err := s.queryIn(ctx, history, users[i], items)
			if err != nil {
				return nil, err
			}
			ev.Histories = append(ev.Histories, h)
			asksOld = asksOld || i == 0 && history == "" && !h.Imported
			for _, u := range h.Linked {
				if !slices.Contains(users, u) {
					users = append(users, u)
				}
			}
		}
	}
	if old := s.cfg.Old; old != nil && (asksOld || old.Shadow && slices.Contains(s.scene(scene).Reads, "")) {
		var err error
		ev.Old, err = old.History(ctx, user)
		ev.Shadow, ev.Late = old.Shadow, err != nil
	}
	return ev, nil
}
