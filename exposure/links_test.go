package exposure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jianguo/exposure/state"
	"jianguo/internal/testbed"
)

// linkModel is an exact memory of links and of what each user was shown.
type linkModel struct {
	seen map[string]map[string]bool
	from map[string][]string
}

// below adds the users whose histories count for one to a set.
func (m *linkModel) below(user string, to map[string]bool) {
	to[user] = true
	for _, u := range m.from[user] {
		m.below(u, to)
	}
}

// longest is the number of links of the longest way down from a user.
func (m *linkModel) longest(user string) int {
	n := 0
	for _, u := range m.from[user] {
		n = max(n, 1+m.longest(u))
	}
	return n
}

// may reports whether a link keeps the rules.
func (m *linkModel) may(user, from string) bool {
	reach := map[string]bool{}
	if m.below(from, reach); reach[user] {
		return false
	}
	trial := linkModel{from: map[string][]string{}}
	for u, list := range m.from {
		trial.from[u] = slices.Clone(list)
	}
	trial.from[user] = append(trial.from[user], from)
	for u := range m.seen {
		all := map[string]bool{}
		if trial.below(u, all); len(all)-1 > state.MaxLinked || trial.longest(u) > state.MaxLinks {
			return false
		}
	}
	return true
}

func (m *linkModel) forget(user string) {
	gone := map[string]bool{}
	m.below(user, gone)
	for u := range m.seen {
		if gone[u] {
			m.seen[u], m.from[u] = map[string]bool{}, nil
		}
		m.from[u] = slices.DeleteFunc(m.from[u], func(v string) bool { return gone[v] })
	}
}

// TestLinks holds links in any order, among reports, un-sees, forgets, restarts and crashes, to an
// exact model.
func TestLinks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx := t.Context()
		policy := state.Policy{Capacity: 64, Tail: 16, Target: 1e-9}
		f := newFixture(t, Config{Path: fmt.Sprintf("%s/%d.db", t.TempDir(), time.Now().UnixNano()), FlushAge: time.Hour,
			CacheBytes: rapid.SampledFrom([]int64{1, 1 << 20}).Draw(rt, "cache"),
			Policies:   map[string]state.Policy{"": policy, "video": policy}, Scenes: map[string]Scene{"clips": {Reads: []string{"video"}, Writes: []string{"video"}}}})
		defer f.end()
		m := &linkModel{seen: map[string]map[string]bool{}, from: map[string][]string{}}
		var users []string
		for i := range 11 {
			users = append(users, fmt.Sprint("user", i))
			m.seen[users[i]] = map[string]bool{}
		}
		user := func(t *rapid.T) string { return rapid.SampledFrom(users).Draw(t, "user") }
		edge := func(t *rapid.T, kind state.EventKind) error {
			u, from := user(t), user(t)
			if u == from {
				return nil
			}
			err := f.Expose(ctx, Event{Kind: kind, User: u, From: from})
			switch {
			case kind == state.Unlink:
				m.from[u] = slices.DeleteFunc(m.from[u], func(v string) bool { return v == from })
			case slices.Contains(m.from[u], from):
			case errors.Is(err, ErrLink) == m.may(u, from):
				t.Fatalf("%s asks %s: %v, with %v", u, from, err, m.from)
			case err == nil:
				m.from[u] = append(m.from[u], from)
			}
			if errors.Is(err, ErrLink) {
				err = nil
			}
			return err
		}
		linking := func(t *rapid.T) { testbed.OK(t, edge(t, state.Link)) }
		see := func(t *rapid.T) {
			u, from := user(t), rapid.IntRange(0, 40).Draw(t, "item")
			items := ids(from, from+rapid.SampledFrom([]int{1, 30}).Draw(t, "n"))
			testbed.OK(t, f.Expose(ctx, Event{Kind: state.Seen, User: u, Items: items}))
			for _, id := range items {
				m.seen[u][id] = true
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"link": linking, "link2": linking, "link3": linking, "see": see, "see2": see,
			"unlink": func(t *rapid.T) { testbed.OK(t, edge(t, state.Unlink)) },
			"unsee": func(t *rapid.T) {
				u, id := user(t), rapid.SampledFrom(ids(0, 70)).Draw(t, "item")
				testbed.OK(t, f.Unsee(ctx, u, "", []string{id}))
				all := map[string]bool{}
				m.below(u, all)
				for v := range all {
					delete(m.seen[v], id)
				}
			},
			"forget": func(t *rapid.T) {
				u := user(t)
				testbed.OK(t, f.Forget(ctx, u))
				m.forget(u)
			},
			"flush":   func(t *rapid.T) { testbed.OK(t, f.Flush(ctx)) },
			"sweep":   func(t *rapid.T) { testbed.OK(t, f.Sweep(ctx)) },
			"restart": func(t *rapid.T) { f.restart() },
			"crash":   func(t *rapid.T) { f.crash() },
			"": func(t *rapid.T) {
				for _, u := range users {
					all := map[string]bool{}
					m.below(u, all)
					var want []string
					for _, id := range ids(0, 72) {
						held := false
						for v := range all {
							held = held || m.seen[v][id]
						}
						if !held {
							want = append(want, id)
						}
					}
					if got := f.unseenOf(u, ids(0, 72)...); !slices.Equal(got, want) {
						t.Fatalf("%s, linked %v: got %v, want %v", u, m.from, got, want)
					}
				}
			},
		})
	})
}

// TestLinkEnds: a link ends when the older state expires, and both rows leave the file. Until then
// it outlives what the other user holds.
func TestLinkEnds(t *testing.T) {
	f := newFixture(t, Config{})
	ctx := context.Background()
	f.report(state.Seen, "phone", "a", "b")
	f.must(f.Expose(ctx, Event{Kind: state.Link, User: "ann", From: "phone"}))
	f.clock.advance(4 * 24 * time.Hour)
	f.report(state.Seen, "phone", "c")
	f.clock.advance(4 * 24 * time.Hour)
	f.report(state.Seen, "ann", "d")
	f.restart()
	if got := f.unseenOf("ann", "a", "b", "c", "d", "e"); !slices.Equal(got, []string{"e"}) {
		t.Fatalf("got %v", got)
	}
	r, err := f.Filter(ctx, Request{User: "ann", Items: []string{"a", "e"}, Scene: "other"})
	if err != nil || !slices.Equal(r.Items, []string{"e"}) {
		t.Fatalf("another scene: %v %v", r, err)
	}
	f.clock.advance(2 * 24 * time.Hour)
	if got := f.unseenOf("ann", "a", "d"); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("after the end: got %v", got)
	}
	f.must(f.Sweep(ctx))
	f.must(f.Flush(ctx))
	if info, err := f.Query(ctx, "ann", "", nil); err != nil || len(info.Linked) > 0 {
		t.Fatalf("%v %v", info, err)
	}
	if rep, err := VerifyFile(ctx, f.cfg.Path); err != nil || rep.Users != 1 {
		t.Fatalf("%+v %v", rep, err)
	}
}

// TestChainOutlivesItsMiddle: a user in the middle of a chain who is silent does not part the ends of it. The links end,
// one after the other, when all that they lead to has expired.
func TestChainOutlivesItsMiddle(t *testing.T) {
	f := newFixture(t, Config{})
	ctx, day := t.Context(), 24*time.Hour
	f.report(state.Seen, "b", "of b")
	f.must(f.Expose(ctx, Event{Kind: state.Link, User: "c", From: "b"}))
	f.must(f.Expose(ctx, Event{Kind: state.Link, User: "b", From: "a"}))
	sweep := func(unseen ...string) (links []string) {
		t.Helper()
		f.must(f.Sweep(ctx))
		f.restart()
		if got := f.unseenOf("c", "of a", "of b", "of c", "new"); !slices.Equal(got, unseen) {
			t.Fatalf("got %v, want %v", got, unseen)
		}
		info, err := f.Query(ctx, "c", "", nil)
		f.must(err)
		return info.Linked
	}
	f.clock.advance(4 * day)
	f.report(state.Seen, "a", "of a")
	f.clock.advance(2 * day) // past the five days of b, and of c
	if sweep("of b", "of c", "new"); len(sweep("of b", "of c", "new")) == 0 {
		t.Error("c no longer asks anyone")
	}
	f.report(state.Seen, "c", "of c")
	f.clock.advance(4 * day) // and past those of a
	if sweep("of a", "of b", "new"); len(sweep("of a", "of b", "new")) > 0 {
		t.Error("c still asks b, of whom nothing is left")
	}
	if rep, err := VerifyFile(ctx, f.cfg.Path); err != nil || rep.Users != 1 {
		t.Errorf("%+v %v", rep, err)
	}
}

// TestRefusedLinkWritesNothing: a link that is refused has changed no user, so that none of those on its way is written.
func TestRefusedLinkWritesNothing(t *testing.T) {
	f := newFixture(t, Config{FlushAge: time.Hour})
	ctx := t.Context()
	f.report(state.Seen, "phone", "a")
	f.must(f.Expose(ctx, Event{Kind: state.Link, User: "ann", From: "phone"}))
	f.restart()
	if err := f.Expose(ctx, Event{Kind: state.Link, User: "phone", From: "ann"}); !errors.Is(err, ErrLink) {
		t.Fatal(err)
	}
	f.must(f.Flush(ctx))
	if n := metric(t, f.Store, "jianguo_exposure_flushed_users_total"); n != 0 {
		t.Errorf("%v rows were written again", n)
	}
}

// TestLinksInTime: while time passes among links, reports, un-sees, forgets, sweeps and crashes, no item comes back that a
// user has seen, or one whose history has counted for that user without a break, and has not expired.
func TestLinksInTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type link struct{ user, from string }
		ctx, ttl := t.Context(), 5*24*time.Hour
		f := newFixture(t, Config{Path: fmt.Sprintf("%s/%d.db", t.TempDir(), time.Now().UnixNano()), FlushAge: time.Hour,
			Policies: map[string]state.Policy{"": {Capacity: 64, Tail: 16, Target: 1e-9, TTL: ttl}}})
		defer f.end()
		users, items := []string{"a", "b", "c", "d", "e"}, ids(0, 30)
		seen, last := map[string]map[string]bool{}, map[string]time.Time{}
		links := map[link]bool{} // false: all that it leads to has expired once, and it may have ended
		live := func(user string) bool { return f.clock.now().Before(last[user].Add(ttl)) }
		var below func(user string, ended bool) []string
		below = func(user string, ended bool) (list []string) {
			list = []string{user}
			for l, counts := range links {
				if l.user == user && (counts || ended) {
					list = state.Union(list, below(l.from, ended))
				}
			}
			return list
		}
		active := func(user string) {
			if !live(user) {
				seen[user] = map[string]bool{}
			}
			last[user] = f.clock.now()
		}
		one := func(t *rapid.T, of []string, what string) string { return rapid.SampledFrom(of).Draw(t, what) }
		see := func(t *rapid.T) {
			user, item := one(t, users, "user"), one(t, items, "item")
			f.report(state.Seen, user, item)
			active(user)
			seen[user][item] = true
		}
		rt.Repeat(map[string]func(*rapid.T){
			"see": see, "see2": see, "see3": see,
			"link": func(t *rapid.T) {
				l := link{one(t, users, "user"), one(t, users, "from")}
				if l.user == l.from {
					return
				}
				if err := f.Expose(ctx, Event{Kind: state.Link, User: l.user, From: l.from}); err == nil {
					active(l.from)
					links[l] = true
				} else if !errors.Is(err, ErrLink) {
					t.Fatal(err)
				}
			},
			"unlink": func(t *rapid.T) {
				l := link{one(t, users, "user"), one(t, users, "from")}
				if l.user != l.from {
					f.must(f.Expose(ctx, Event{Kind: state.Unlink, User: l.user, From: l.from}))
					delete(links, l)
				}
			},
			"unsee": func(t *rapid.T) {
				user, item := one(t, users, "user"), one(t, items, "item")
				f.must(f.Unsee(ctx, user, "", []string{item}))
				for _, u := range below(user, true) {
					delete(seen[u], item)
				}
			},
			"forget": func(t *rapid.T) {
				user := one(t, users, "user")
				gone := below(user, true)
				f.must(f.Forget(ctx, user))
				for l := range links {
					if slices.Contains(gone, l.user) || slices.Contains(gone, l.from) {
						delete(links, l)
					}
				}
				for _, u := range gone {
					delete(seen, u)
					delete(last, u)
				}
			},
			"wait": func(t *rapid.T) {
				f.clock.advance(time.Duration(rapid.IntRange(1, 60).Draw(t, "hours")) * time.Hour)
				for l := range links {
					links[l] = links[l] && slices.ContainsFunc(below(l.from, false), live)
				}
			},
			"sweep":   func(t *rapid.T) { f.must(f.Flush(ctx)); f.must(f.Sweep(ctx)) },
			"restart": func(t *rapid.T) { f.restart() },
			"crash":   func(t *rapid.T) { f.crash() },
			"": func(t *rapid.T) {
				for _, user := range users {
					got := f.unseenOf(user, items...)
					for _, u := range below(user, false) {
						for item := range seen[u] {
							if live(u) && slices.Contains(got, item) {
								t.Fatalf("%s is shown %s again, which %s has seen: %v", user, item, u, links)
							}
						}
					}
				}
			},
		})
	})
}
