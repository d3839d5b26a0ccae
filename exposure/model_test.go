package exposure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jianguo/exposure/state"
	"jianguo/internal/testbed"
)

// model is the exact memory that a store is held to: all exposures of one user in order.
type model struct {
	pol   state.Policy
	last  time.Time
	seen  []exposureOf
	ring  []exposureOf
	known map[string]bool // ever reported; all other ids were never seen
}

type exposureOf struct {
	id string
	at time.Time
}

func without(list []exposureOf, id string) []exposureOf {
	return slices.DeleteFunc(list, func(e exposureOf) bool { return e.id == id })
}

func (m *model) touch(at, now time.Time) {
	if !m.last.IsZero() && m.pol.Expired(m.last, now) {
		*m = model{pol: m.pol, known: m.known}
	}
	if at.After(m.last) {
		m.last = at
	}
}

func (m *model) see(items []string, at, now time.Time) {
	m.touch(at, now)
	for _, id := range items {
		m.seen = append(m.seen, exposureOf{id, at})
		m.known[id] = true
	}
}

func (m *model) deliver(items []string, at, now time.Time) {
	m.touch(at, now)
	for _, id := range items {
		when := at
		for _, e := range m.ring {
			if e.id == id && e.at.After(when) {
				when = e.at
			}
		}
		m.ring = append(without(m.ring, id), exposureOf{id, when})
		m.ring = m.ring[max(0, len(m.ring)-state.RingSize):]
		m.known[id] = true
	}
}

// held is the set of ids that must not come back at a time.
func (m *model) held(now time.Time) map[string]bool {
	held := map[string]bool{}
	if m.last.IsZero() || m.pol.Expired(m.last, now) {
		return held
	}
	for _, e := range m.ring {
		// The ring's times are minutes: up to one of the 24 hours may be lost.
		if e.at.Add(state.RingTTL - time.Minute).After(now) {
			held[e.id] = true
		}
	}
	quota := map[int32]int{}
	for i := len(m.seen) - 1; i >= 0; i-- {
		e := m.seen[i]
		epoch := m.pol.EpochOf(state.DayOf(e.at))
		if quota[epoch]++; quota[epoch] <= (m.pol.Slots-1)*m.pol.Capacity && epoch >= m.pol.OldestEpoch(now) {
			held[e.id] = true
		}
	}
	delete(held, "") // taken back
	return held
}

// released is the set of ids that must come back, false positives aside: delivered
// long ago and never seen, un-seen since, or forgotten with their user.
func (m *model) released(now time.Time) []string {
	var out []string
	gone := m.last.IsZero() || m.pol.Expired(m.last, now)
	for id := range m.known {
		if gone || !slices.ContainsFunc(m.seen, func(e exposureOf) bool { return e.id == id }) &&
			!slices.ContainsFunc(m.ring, func(e exposureOf) bool { return e.id == id && e.at.Add(state.RingTTL+time.Minute).After(now) }) {
			out = append(out, id)
		}
	}
	return out
}

// TestModel drives a store through random histories, and through flushes, restarts,
// crashes and failures of a flush at every point it has, and compares each answer with
// the model's. Policies are small, so that a few hundred exposures fold and rotate
// and climb the ladder many times over.
func TestModel(t *testing.T) {
	policies := []state.Policy{
		{Slots: 3, Capacity: 64, Tail: 16},
		{Slots: 4, Capacity: 64, Small: 2, Large: 128, Tail: 24},
		{Kind: state.Calendar, Slots: 2, Capacity: 64, Small: 1, Large: 100, Tail: 16},
		{Kind: state.Calendar, Slots: 3, Capacity: 64, Large: -1, Months: 1, Tail: 8},
	}
	var tally [2]struct{ wrong, asked int } // no longer held, and never seen
	rapid.Check(t, func(rt *rapid.T) {
		pol, err := rapid.SampledFrom(policies).Draw(rt, "policy").WithDefaults()
		testbed.OK(rt, err)
		h := newHistory(t, rt, pol)
		defer func() { h.Close() }() // the last one
		rt.Repeat(map[string]func(*rapid.T){
			"seen":     func(rt *rapid.T) { h.event(rt, state.Seen) },
			"seen2":    func(rt *rapid.T) { h.event(rt, state.Seen) },
			"deliver":  func(rt *rapid.T) { h.event(rt, state.Delivered) },
			"unsee":    h.unsee,
			"forget":   h.forget,
			"wait":     h.wait,
			"flush":    func(rt *rapid.T) { testbed.OK(rt, h.Flush(context.Background())) },
			"restart":  func(rt *rapid.T) { testbed.OK(rt, h.Close()); h.reopen(rt) },
			"crash":    func(rt *rapid.T) { h.fail(errors.New("crash")); h.Close(); h.reopen(rt) },
			"badflush": h.failFlush,
			"sweep":    func(rt *rapid.T) { testbed.OK(rt, h.Sweep(context.Background())) },
			"": func(rt *rapid.T) {
				for i, c := range h.check(rt) {
					tally[i].asked += c[1]
					tally[i].wrong += c[0]
				}
			},
		})
		testbed.OK(rt, h.Close())
		if _, err := VerifyFile(context.Background(), h.cfg.Path); err != nil {
			rt.Fatal(err)
		}
	})
	// Policies promise 0.1 %; the few thousand tests here can show 1 %.
	for i, c := range tally {
		t.Logf("%s: %d of %d withheld", [...]string{"no longer held", "never seen"}[i], c.wrong, c.asked)
		if c.asked > 5000 && c.wrong*100 > c.asked {
			t.Errorf("%s: %d of %d ids that were not held were withheld", [...]string{"no longer held", "never seen"}[i], c.wrong, c.asked)
		}
	}
}

// modelHistory is a store beside the models of its users.
type modelHistory struct {
	*Store
	cfg    Config
	fault  atomic.Value // string; the flush loop reads it
	clock  *testClock
	pol    state.Policy
	models map[string]*model
	rng    *rand.Rand
}

func newHistory(t *testing.T, rt *rapid.T, pol state.Policy) *modelHistory {
	h := &modelHistory{clock: newClock(), pol: pol, models: map[string]*model{},
		rng: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))}
	log := NewMemoryLog()
	log.Clock = h.clock.now
	h.cfg = Config{Path: fmt.Sprintf("%s/%d.db", t.TempDir(), h.rng.Uint64()), Log: log, Clock: h.clock.now,
		Policies: map[string]state.Policy{"": pol}, Logger: quiet, SweepRate: -1, CacheBytes: 1,
		FlushAge: time.Hour, MaxUnflushed: 64, Relaxed: true, HealAfter: time.Millisecond}
	if rapid.Bool().Draw(rt, "cached") {
		h.cfg.CacheBytes = 1 << 20
	}
	h.cfg.Fail = func(point string) error {
		if point == h.fault.Load() {
			return errors.New("broken at " + point)
		}
		return nil
	}
	h.reopen(rt)
	for _, u := range []string{"ann", "bob"} {
		h.models[u] = &model{pol: pol, known: map[string]bool{}}
	}
	return h
}

func (h *modelHistory) reopen(t *rapid.T) { h.Store = openReady(t, h.cfg) }

func (h *modelHistory) user(t *rapid.T) (string, *model) {
	u := rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user")
	return u, h.models[u]
}

func (h *modelHistory) items(t *rapid.T) []string {
	n := rapid.SampledFrom([]int{1, 3, 20, 70}).Draw(t, "n")
	base := rapid.IntRange(0, 500).Draw(t, "base")
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprint(base + h.rng.IntN(3*n))
	}
	return items
}

func (h *modelHistory) event(t *rapid.T, kind state.EventKind) {
	u, m := h.user(t)
	items := h.items(t)
	now := h.clock.now().In(shanghai)
	var at time.Time
	if rapid.IntRange(0, 3).Draw(t, "dated") == 0 {
		at = now.Add(-time.Duration(rapid.IntRange(-2, 130*24).Draw(t, "hours")) * time.Hour)
	}
	testbed.OK(t, h.Expose(context.Background(), Event{Kind: kind, User: u, Items: items, At: at}))
	at = h.pol.Clamp(at, now)
	if kind == state.Seen {
		m.see(items, at, now)
	} else {
		m.deliver(items, at, now)
	}
}

func (h *modelHistory) unsee(t *rapid.T) {
	u, m := h.user(t)
	items := h.items(t)
	err := h.Unsee(context.Background(), u, "", items)
	if errors.Is(err, ErrExceptions) {
		return // and nothing has changed, as the next check will find
	}
	testbed.OK(t, err)
	for _, id := range items {
		m.ring = without(m.ring, id)
		// An exposure taken back still counts among the last so many: what it
		// once pushed out of the oldest shard does not come back for it.
		for i := range m.seen {
			if m.seen[i].id == id {
				m.seen[i].id = ""
			}
		}
	}
}

func (h *modelHistory) forget(t *rapid.T) {
	u, m := h.user(t)
	if rapid.IntRange(0, 3).Draw(t, "rarely") == 0 {
		testbed.OK(t, h.Forget(context.Background(), u))
		m.last, m.seen, m.ring = time.Time{}, nil, nil
	}
}

func (h *modelHistory) wait(t *rapid.T) {
	hours := []int{0, 1, 5, 23, 24 * 4, 24 * 6, 24 * 20, 24 * 40}
	h.clock.advance(time.Duration(rapid.SampledFrom(hours).Draw(t, "hours"))*time.Hour + time.Duration(h.rng.IntN(3600))*time.Second)
}

// failFlush breaks a flush at one of its points, "committed, but the ack was lost"
// included, and reopens the file, or lets the store heal itself.
func (h *modelHistory) failFlush(t *rapid.T) {
	h.fault.Store(rapid.SampledFrom([]string{"flush-begin", "flush-write", "flush-commit", "flush-committed"}).Draw(t, "point"))
	h.Flush(context.Background())
	h.fault.Store("")
	if rapid.Bool().Draw(t, "heals") {
		waitReady(t, h.Store)
		return
	}
	h.Close()
	h.reopen(t)
}

// check asks about everything, and returns how many ids were withheld, of how many,
// among those no longer held and among those never seen.
func (h *modelHistory) check(t *rapid.T) (counts [2][2]int) {
	now := h.clock.now().In(shanghai)
	for u, m := range h.models {
		held := m.held(now)
		var ask []string
		for id := range held {
			ask = append(ask, id)
		}
		if got := h.ask(t, u, ask); len(got) > 0 {
			t.Fatalf("%s: %d of %d held ids came back, such as %q", u, len(got), len(ask), got[0])
		}
		free := m.released(now)
		counts[0][0] += len(free) - len(h.ask(t, u, free))
		counts[0][1] += len(free)
		unknown := make([]string, 50)
		for i := range unknown {
			unknown[i] = fmt.Sprintf("unknown-%d", i)
		}
		counts[1][0] += len(unknown) - len(h.ask(t, u, unknown))
		counts[1][1] += len(unknown)
		for _, ids := range [][]string{ask, free, unknown} {
			h.explain(t, u, ids, held)
		}
	}
	return counts
}

// explain holds explanations to the answers of filters, and to the model: no item that is retained is explained
// as one that was never seen.
func (h *modelHistory) explain(t *rapid.T, user string, ids []string, held map[string]bool) {
	h.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = ids[:min(len(ids), 4)]
	returned := h.ask(t, user, ids)
	for _, id := range ids {
		x, err := h.Explain(context.Background(), user, id, "")
		testbed.OK(t, err)
		if x.Dropped == slices.Contains(returned, id) || x.Dropped != x.Story || x.Dropped && len(x.Reasons) == 0 || held[id] && !x.Dropped {
			t.Fatalf("returned %v, held %v: %s", returned, held[id], x)
		}
		if held[id] && strings.Contains(x.String(), "held nowhere") {
			t.Fatalf("%s is held: %s", id, x)
		}
	}
}

func (h *modelHistory) ask(t *rapid.T, user string, items []string) []string {
	r, err := h.Filter(context.Background(), Request{User: user, Items: items})
	testbed.OK(t, err)
	if r.Degraded != "" {
		t.Fatalf("degraded: %s", r.Degraded)
	}
	return r.Items
}
