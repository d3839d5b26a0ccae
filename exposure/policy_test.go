package exposure

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jianguo/exposure/state"
	"jianguo/internal/testbed"
)

func TestClamp(t *testing.T) {
	now := time.Date(2024, 3, 20, 23, 59, 59, 0, shanghai)
	eve := time.Date(2024, 3, 31, 23, 59, 59, 0, shanghai)
	day := 24 * time.Hour
	rotate, _ := state.Policy{}.WithDefaults()
	hours, _ := state.Policy{TTL: 4 * time.Hour}.WithDefaults()
	calendar, _ := state.Policy{Kind: state.Calendar}.WithDefaults()
	december := time.Date(2023, 12, 1, 0, 0, 0, 0, shanghai)
	for _, c := range []struct {
		p             state.Policy
		now, at, want time.Time
	}{
		{rotate, now, time.Time{}, now},
		{rotate, now, now.Add(time.Second), now},
		{rotate, now, now.AddDate(9, 0, 0), now},
		{rotate, now, now.Add(-time.Hour), now.Add(-time.Hour)},
		{rotate, now, now.Add(-4 * day), now.Add(-4 * day)},
		{rotate, now, now.Add(-5 * day), now.Add(-4 * day)},
		{rotate, now, now.AddDate(-1, 0, 0), now.Add(-4 * day)},
		{hours, now, now.AddDate(-1, 0, 0), now.Add(-2 * time.Hour)},
		{calendar, now, now.AddDate(-1, 0, 0), december},
		{calendar, now, december, december},
		{calendar, now, december.Add(-time.Second), december},
		{calendar, now, time.Date(2023, 12, 31, 16, 0, 0, 0, time.UTC), time.Date(2024, 1, 1, 0, 0, 0, 0, shanghai)},
		// On the last day of a month the next one's oldest counts.
		{calendar, eve, december, time.Date(2024, 1, 1, 0, 0, 0, 0, shanghai)},
	} {
		got := c.p.Clamp(c.at, c.now)
		if !got.Equal(c.want) {
			t.Errorf("%s: clamp %s: %s, want %s", c.p.Kind, c.at, got, c.want)
		}
		if c.p.Expired(got, c.now.Add(min(24*time.Hour, c.p.TTL/2)-time.Second)) {
			t.Errorf("%s: %s is forgotten within a day of the report", c.p.Kind, c.at)
		}
	}
}

// TestLateReport: however old an exposure is when it is reported, the filter that
// follows the answer takes it into account, and so does one after a crash.
func TestLateReport(t *testing.T) {
	for _, p := range []state.Policy{{}, {TTL: time.Hour}, {Kind: state.Calendar}, {Kind: state.Calendar, Months: 1}} {
		f := newFixture(t, Config{Policies: map[string]state.Policy{"": p}})
		f.clock.unix.Store(time.Date(2024, 5, 31, 23, 59, 0, 0, shanghai).Unix())
		for i, at := range []time.Time{f.clock.now().AddDate(-30, 0, 0), f.clock.now().AddDate(0, -2, 0), f.clock.now().AddDate(30, 0, 0)} {
			user := string(rune('a' + i))
			f.must(f.Expose(context.Background(), Event{Kind: state.Seen, User: user, Items: []string{"late"}, At: at}))
			if got := f.unseenOf(user, "late", "new"); !slices.Equal(got, []string{"new"}) {
				t.Errorf("%v, reported of %s: %q", p.Kind, at, got)
			}
			f.clock.advance(2 * time.Minute) // into the next month
			f.crash()
			if got := f.unseenOf(user, "late", "new"); !slices.Equal(got, []string{"new"}) {
				t.Errorf("%v, reported of %s, after a crash: %q", p.Kind, at, got)
			}
		}
	}
}

// TestClocksGoForward: where the first of a month begins at one o'clock, as in
// Asunción in October 2023, its start is not taken for the day before.
func TestClocksGoForward(t *testing.T) {
	zone, err := time.LoadLocation("America/Asuncion")
	testbed.OK(t, err)
	p, _ := state.Policy{Kind: state.Calendar}.WithDefaults()
	october := time.Date(2023, 10, 1, 1, 0, 0, 0, zone)
	for now, want := range map[time.Time]time.Time{
		time.Date(2023, 9, 30, 12, 0, 0, 0, zone):  october,
		time.Date(2023, 9, 30, 23, 59, 0, 0, zone): october,
		october: time.Date(2023, 11, 1, 0, 0, 0, 0, zone),
	} {
		if got := p.NextBoundary(time.Time{}, now); !got.Equal(want) {
			t.Errorf("after %s the boundary is %s, want %s", now, got, want)
		}
	}
	now := time.Date(2024, 1, 15, 12, 0, 0, 0, zone)
	if got := p.Clamp(now.AddDate(-1, 0, 0), now); !got.Equal(october) || p.Expired(got, now) {
		t.Errorf("clamped to %s, want %s", got, october)
	}
}

// TestPolicyChanged: after a change between rotate and calendar what was seen before stays as long as the new policy
// keeps it, through sweeps, restarts and a change back, and goes then.
func TestPolicyChanged(t *testing.T) {
	for _, kind := range []state.PolicyKind{state.Rotate, state.Calendar} {
		f := newFixture(t, Config{Policies: map[string]state.Policy{"": {Kind: kind, Capacity: 64, Large: -1, Tail: 16}}})
		change := func(kind state.PolicyKind) {
			f.must(f.Store.Close())
			f.cfg.Policies = map[string]state.Policy{"": {Kind: kind, Capacity: 64, Large: -1, Tail: 16}}
			f.open()
			f.must(f.Sweep(t.Context()))
		}
		known := func(when string, want ...string) {
			t.Helper()
			if got := f.unseenOf("u", want...); len(got) > 0 {
				t.Errorf("from %s, %s: %d of %d came back", kind, when, len(got), len(want))
			}
		}
		old := ids(0, 3*64)
		f.report(state.Seen, "u", old...)
		change(1 - kind)
		known("changed", old...)
		f.report(state.Seen, "u", "x")
		f.restart()
		known("after a report", append(old, "x")...)
		change(kind)
		known("changed back", append(old, "x")...)
		change(1 - kind)
		f.clock.advance(4 * 24 * time.Hour)
		more := ids(1000, 1000+5*64)
		f.report(state.Seen, "u", more...)
		known("with more", more[64:]...)
		if got := f.unseenOf("u", old...); kind == state.Calendar && len(got) < len(old)-1 {
			t.Errorf("from %s, of what is dropped only %d of %d came back", kind, len(got), len(old))
		}
	}
}

func TestParsePolicy(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "rotate,slots=5,capacity=1000,small=1,large=-1,tail=512,target=0.001,ttl=120h0m0s",
		"rotate":                             "rotate,slots=5,capacity=1000,small=1,large=-1,tail=512,target=0.001,ttl=120h0m0s",
		"rotate,slots=3,large=10000,ttl=48h": "rotate,slots=3,capacity=1000,small=1,large=10000,tail=512,target=0.001,ttl=48h0m0s",
		"calendar,large=-1":                  "calendar,slots=4,capacity=1000,small=2,large=-1,tail=512,target=0.001,months=3",
		"calendar,months=1":                  "calendar,slots=4,capacity=1000,small=2,large=10000,tail=512,target=0.001,months=1",
	} {
		p, err := state.ParsePolicy(in)
		if err != nil || p.String() != want {
			t.Errorf("%q: %s, %v", in, p, err)
		}
		if again, err := p.WithDefaults(); err != nil || again != p {
			t.Errorf("%q changes when defaults are filled in again: %v", p, again)
		}
		if again, err := state.ParsePolicy(p.String()); err != nil || again != p {
			t.Errorf("%q does not read back: %v, %v", p, again, err)
		}
	}
	for _, bad := range []string{"weekly", "rotate,slots=1", "rotate,slots=65", "rotate,slots", "rotate,colour=3", "rotate,capacity=10",
		"rotate,large=5", "rotate,slots=0", "calendar,months=0", "rotate,target=0.9", "rotate,target=NaN", "rotate,ttl=-1h", "calendar,slots=40", "rotate,tail=9999",
		"rotate,months=6", "calendar,ttl=1h", "rotate,target=0", "rotate,ttl=0", "rotate,small=3",
		"calendar,slots=4611686018427387904", "calendar,slots=2,months=9223372036854775807", "rotate,ttl=1000000h"} {
		if p, err := state.ParsePolicy(bad); err == nil {
			t.Errorf("%q is taken: %s", bad, p)
		}
	}
	if _, err := state.ParsePolicy("rotate,foo=2"); !strings.Contains(fmt.Sprint(err), "slots, capacity, small") {
		t.Errorf("an unknown setting gets no list of those there are: %v", err)
	}
}

// TestTargets: a policy that is taken makes shards that can be read again.
func TestTargets(t *testing.T) {
	for _, target := range []float64{1e-20, 1e-9, 0.05} {
		for _, p := range []state.Policy{{Target: target, Slots: 2}, {Target: target, Slots: state.MaxShards, Capacity: state.MaxCapacity}} {
			p, err := p.WithDefaults()
			if m, k := p.Geometry(p.Capacity); err == nil && (m > 1<<28 || k < 4 || k > 64) {
				t.Errorf("%s: a shard of %d bits and %d hashes", p, m, k)
			}
			if (err != nil) != (target < 1e-9) {
				t.Errorf("target %g: %v", target, err)
			}
		}
	}
}
