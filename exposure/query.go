package exposure

import (
	"cmp"
	"context"

	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
	"jianguo/internal/must"
)

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

// queryIn is Query in one history. Package must ends it.
func (s *Store) queryIn(ctx context.Context, history, user string, items []string) trace.History {
	pol := s.policies[history]
	g, e, _ := s.entry(history, user)
	if s.fleet != nil {
		if _, err := s.fleet.refresh(ctx, e, nil, nil); err != nil {
			g.release(e, -1, true)
			must.Do(err)
		}
	}
	e.mu.Lock()
	defer g.unlock(e, true)
	r := s.db.rows(ctx)
	must.Do(s.load(e, r))
	must.Do(e.st.Need(r.fetch))
	now := s.cfg.Clock().In(s.cfg.Location)
	info := e.st.Describe(pol, now)
	info.User, info.History, info.Kinds = user, history, s.cfg.Kinds[history]
	v := e.st.Look(pol, now, 1)
	seed := wire.Seed(&s.secret, user)
	for _, item := range items {
		info.Items = append(info.Items, e.st.Find(pol, v, now, item, wire.Key([]byte(item), seed)))
	}
	return info
}
