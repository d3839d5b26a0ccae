package exposure

import (
	"context"
	"fmt"
	"testing"
	"time"

	"jianguo/exposure/state"
)

// TestSweepLoop: what has expired leaves the file by itself, at the rate given.
func TestSweepLoop(t *testing.T) {
	f := newFixture(t, Config{SweepRate: 6400, SweepRest: time.Millisecond, FlushAge: 10 * time.Millisecond})
	const users = 300
	for i := range users {
		f.report(state.Seen, fmt.Sprint("u", i), "a")
	}
	f.must(f.Flush(t.Context()))
	left := func() int64 {
		rep, err := VerifyFile(t.Context(), f.cfg.Path)
		f.must(err)
		return rep.Users
	}
	if got := left(); got != users {
		t.Fatalf("%d users", got)
	}
	f.clock.advance(6 * 24 * time.Hour)
	for left() > 0 {
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSweep: what has expired leaves the file, and only that.
func TestSweep(t *testing.T) {
	f := newFixture(t, Config{Scenes: map[string]Scene{"news": {Reads: []string{"monthly"}, Writes: []string{"monthly"}}},
		Policies: map[string]state.Policy{"": {Capacity: 64, Tail: 16}, "monthly": {Kind: state.Calendar, Capacity: 64, Large: -1, Tail: 16, Months: 1}}})
	ctx := context.Background()
	see := func(user, scene string, n int) {
		f.must(f.Expose(ctx, Event{Kind: state.Seen, User: user, Scene: scene, Items: ids(0, n)}))
	}
	see("old", "", 300)
	see("old", "news", 100)
	f.clock.advance(6 * 24 * time.Hour)
	see("young", "", 300)
	f.must(f.Flush(ctx))
	count := func() (users, shards int64) {
		f.must(f.Sweep(ctx))
		f.must(f.Flush(ctx))
		rep, err := VerifyFile(ctx, f.cfg.Path)
		f.must(err)
		return rep.Users, rep.Shards
	}
	if users, shards := count(); users != 2 || shards != 5+2 {
		t.Fatalf("after six days: %d users, %d shards", users, shards)
	}
	f.clock.advance(30 * 24 * time.Hour) // 25 June: May is still read
	see("old", "news", 10)
	if users, shards := count(); users != 1 || shards != 3 {
		t.Fatalf("in June: %d users, %d shards", users, shards)
	}
	f.clock.advance(30 * 24 * time.Hour) // 25 July: May is not
	if users, shards := count(); users != 1 || shards != 1 {
		t.Fatalf("in July: %d users, %d shards", users, shards)
	}
	f.clock.advance(60 * 24 * time.Hour)
	if users, shards := count(); users != 0 || shards != 0 {
		t.Fatalf("in September: %d users, %d shards", users, shards)
	}
}

// TestLogClockJumps: events that the log stamps days ahead, by a clock that is wrong for a
// while, erase nothing.
func TestLogClockJumps(t *testing.T) {
	log := NewMemoryLog()
	f := newFixture(t, Config{Log: log, Policies: map[string]state.Policy{"": {Capacity: 64, Tail: 16}}})
	log.Clock = f.clock.now
	f.report(state.Seen, "u", ids(0, 100)...)
	f.report(state.Delivered, "u", "delivered")
	log.Clock = func() time.Time { return f.clock.now().Add(6 * 24 * time.Hour) }
	f.report(state.Seen, "u", "in the jump")
	log.Clock = f.clock.now
	f.clock.advance(time.Minute)
	f.restart()
	if got := f.unseenOf("u", append(ids(0, 100), "delivered", "in the jump", "new")...); len(got) != 1 {
		t.Fatalf("%d items came back: %v", len(got)-1, got)
	}
}

// Sweep looks at every row once and frees what has expired.
func (s *Store) Sweep(ctx context.Context) error {
	var after state.Address
	for {
		var err error
		if after, err = s.w.sweep(ctx, after, sweepBatch); err != nil || after == (state.Address{}) {
			return err
		}
	}
}
