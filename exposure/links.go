package exposure

import (
	"context"
	"slices"
	"time"

	"jianguo/exposure/link"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
)

// linksIn reads the links of users in a history.
func (s *writer) linksIn(ctx context.Context, history string) link.Reader {
	return func(user string) (l link.Links, err error) {
		err = s.edit(ctx, history, user, func(st *state.State, _ state.Fetcher) error {
			l = st.Links
			return nil
		})
		return l, err
	}
}

// applyLink adds or removes a link in every history, or, with ErrLink, in none.
func (s *writer) applyLink(ctx context.Context, kind EventKind, user, from string, logged, now time.Time) error {
	for history := range s.policies {
		if kind == Link {
			if err := s.linksIn(ctx, history).Check(user, from); err != nil {
				return err
			}
		}
	}
	for history, pol := range s.policies {
		var touch func(*state.State)
		if kind == Link {
			touch = func(st *state.State) { st.Touch(pol, logged, now) } // the link ends when this state expires
		}
		if err := s.setLink(ctx, history, user, from, touch); err != nil {
			return err
		}
	}
	return nil
}

// setLink adds a link in one history, and touches the state that counts for the user as well. Without a touch it
// removes the link, if there is one.
func (s *writer) setLink(ctx context.Context, history, user, from string, touch func(*state.State)) error {
	err := s.edit(ctx, history, user, func(st *state.State, _ state.Fetcher) error {
		st.Links.From = link.Set(st.Links.From, from, touch != nil)
		return nil
	})
	if err != nil {
		return err
	}
	return s.edit(ctx, history, from, func(st *state.State, _ state.Fetcher) error {
		if touch != nil {
			touch(st)
		}
		st.Links.Into = link.Set(st.Links.Into, user, touch != nil)
		return nil
	})
}

// applyUnsee removes items from all histories of the scene, those of the user and of all that count for the user, or,
// with ErrExceptions, from none.
func (s *writer) applyUnsee(ctx context.Context, q *wire.Query, now time.Time) error {
	for _, try := range []bool{true, false} {
		for _, history := range s.scene(q.Scene).all() {
			if err := s.unseeIn(ctx, history, q, now, try); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *writer) unseeIn(ctx context.Context, history string, q *wire.Query, now time.Time, try bool) error {
	users, err := s.linksIn(ctx, history).Below(q.User)
	if err != nil {
		return err
	}
	for _, user := range users {
		s.keys = q.Keys(s.keys, wire.Seed(&s.secret, user))
		err := s.edit(ctx, history, user, func(st *state.State, fetch state.Fetcher) error {
			return st.Unsee(s.policies[history], s.keys, now, fetch, try)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// applyForget removes a user, and all whose histories count for the user, from every history.
func (s *writer) applyForget(ctx context.Context, user string) error {
	users := []string{user}
	for history := range s.policies {
		below, err := s.linksIn(ctx, history).Below(user)
		if err != nil {
			return err
		}
		for _, u := range below {
			if !slices.Contains(users, u) {
				users = append(users, u)
			}
		}
	}
	for _, u := range users {
		if s.cfg.Forgotten != nil {
			if err := s.insist(ctx, "forget a user elsewhere", func() error { return s.cfg.Forgotten(ctx, u) }); err != nil {
				return err
			}
		}
		for history := range s.policies {
			if err := s.forgetIn(ctx, history, u); err != nil {
				return err
			}
		}
		s.forgotten = append(s.forgotten, u)
		if err := s.insist(ctx, "erase a trace", func() error { return s.Traces.Erase(ctx, u) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *writer) forgetIn(ctx context.Context, history, user string) error {
	l, err := s.linksIn(ctx, history)(user)
	if err != nil {
		return err
	}
	for _, from := range l.From {
		if err := s.setLink(ctx, history, user, from, nil); err != nil {
			return err
		}
	}
	for _, into := range l.Into {
		if err := s.setLink(ctx, history, into, user, nil); err != nil {
			return err
		}
	}
	return s.edit(ctx, history, user, func(st *state.State, _ state.Fetcher) error {
		st.Reset()
		return nil
	})
}

// applyImported notes that the old store need not be asked for a user any more, until the user's state
// expires.
func (s *writer) applyImported(ctx context.Context, user string, logged, now time.Time) error {
	return s.edit(ctx, "", user, func(st *state.State, _ state.Fetcher) error {
		st.Touch(s.policies[""], logged, now)
		st.Links.Imported = true
		return nil
	})
}
