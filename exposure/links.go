package exposure

import (
	"context"
	"time"

	"jianguo/exposure/state"
	"jianguo/exposure/wire"
	"jianguo/internal/must"
)

// linksIn reads the links of users in a history.
func (s *writer) linksIn(ctx context.Context, history string) state.LinkReader {
	return func(user string) (l state.Links) {
		s.edit(ctx, history, user, func(st *state.State, _ state.Fetcher) { l = st.Links })
		return l
	}
}

// applyLink adds or removes a link in every history, or, with ErrLink, in none.
func (s *writer) applyLink(ctx context.Context, kind EventKind, user, from string, logged, now time.Time) {
	if kind == Link {
		for history := range s.policies {
			s.linksIn(ctx, history).Check(user, from)
		}
	}
	for history, pol := range s.policies {
		var touch func(*state.State)
		if kind == Link {
			touch = func(st *state.State) { st.Touch(pol, logged, now) } // the link ends when this state expires
		}
		s.setLink(ctx, history, user, from, touch)
	}
}

// setLink adds a link in one history, and touches the state that counts for the user as well. Without a touch it
// removes the link, if there is one.
func (s *writer) setLink(ctx context.Context, history, user, from string, touch func(*state.State)) {
	s.edit(ctx, history, user, func(st *state.State, _ state.Fetcher) {
		st.Links.From = state.SetUser(st.Links.From, from, touch != nil)
	})
	s.edit(ctx, history, from, func(st *state.State, _ state.Fetcher) {
		if touch != nil {
			touch(st)
		}
		st.Links.Into = state.SetUser(st.Links.Into, user, touch != nil)
	})
}

// applyUnsee removes items from all histories of the scene, those of the user and of all that count for the user, or,
// with ErrExceptions, from none.
func (s *writer) applyUnsee(ctx context.Context, q *wire.Query, now time.Time) {
	for _, try := range []bool{true, false} {
		for _, history := range s.scene(q.Scene).all() {
			for _, user := range s.linksIn(ctx, history).Below(q.User) {
				s.keys = q.Keys(s.keys, wire.Seed(&s.secret, user))
				s.edit(ctx, history, user, func(st *state.State, fetch state.Fetcher) {
					must.Do(st.Unsee(s.policies[history], s.keys, now, fetch, try))
				})
			}
		}
	}
}

// applyForget removes a user, and all whose histories count for the user, from every history.
func (s *writer) applyForget(ctx context.Context, user string) {
	users := []string{user}
	for history := range s.policies {
		users = state.Union(users, s.linksIn(ctx, history).Below(user))
	}
	for _, u := range users {
		if s.cfg.Forgotten != nil {
			must.Do(s.insist(ctx, "forget a user elsewhere", func() error { return s.cfg.Forgotten(ctx, u) }))
		}
		for history := range s.policies {
			s.forgetIn(ctx, history, u)
		}
		s.forgotten = append(s.forgotten, u)
		must.Do(s.insist(ctx, "erase a trace", func() error { return s.Traces.Erase(ctx, u) }))
	}
}

func (s *writer) forgetIn(ctx context.Context, history, user string) {
	l := s.linksIn(ctx, history)(user)
	for _, from := range l.From {
		s.setLink(ctx, history, user, from, nil)
	}
	for _, into := range l.Into {
		s.setLink(ctx, history, into, user, nil)
	}
	s.edit(ctx, history, user, func(st *state.State, _ state.Fetcher) { st.Reset() })
}

// applyImported notes that the old store need not be asked for a user any more, until the user's state
// expires.
func (s *writer) applyImported(ctx context.Context, user string, logged, now time.Time) {
	s.edit(ctx, "", user, func(st *state.State, _ state.Fetcher) {
		st.Touch(s.policies[""], logged, now)
		st.Links.Imported = true
	})
}
