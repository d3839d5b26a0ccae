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
	ev := new(trace.Evidence)
	for users := []string{user}; len(ev.Histories) < len(users); {
		h, err := s.Query(ctx, users[len(ev.Histories)], scene, items)
		if err != nil {
			return nil, err
		}
		ev.Histories = append(ev.Histories, h)
		for _, u := range h.Linked {
			if !slices.Contains(users, u) {
				users = append(users, u)
			}
		}
	}
	if old := s.cfg.Old; old != nil && s.history(scene) == "" && (old.Shadow || !ev.Histories[0].Imported) {
		var err error
		ev.Old, err = old.History(ctx, user)
		ev.Shadow, ev.Late = old.Shadow, err != nil
	}
	return ev, nil
}
