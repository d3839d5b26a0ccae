package exposure

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/exposure/trace"
	"jianguo/internal/testbed"
)

// TestPlanKeepsWhatIsThere: whatever a user has seen before an import, and whatever the old
// store holds, by a clock that may be ahead, nothing that is imported comes back, and nothing that was there before.
func TestPlanKeepsWhatIsThere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		policy, err := state.ParsePolicy(rapid.SampledFrom([]string{
			"rotate,slots=3,capacity=100,tail=16", "rotate,slots=3,capacity=64,small=1,large=200,tail=32",
			"calendar,slots=2,capacity=64,large=-1,months=2,tail=16", "calendar,slots=3,capacity=64,large=128,small=1,tail=8",
		}).Draw(rt, "policy"))
		testbed.OK(rt, err)
		f := newFixture(t, Config{Path: t.TempDir() + "/exposure.db", Policies: map[string]state.Policy{"": policy}})
		defer f.Store.Close()
		now := f.clock.now().In(shanghai)
		var shown []string
		see := func(r redis.Report) {
			f.must(f.Expose(t.Context(), Event{Kind: state.Seen, User: "u", Items: r.Items, At: r.At}))
			shown = append(shown, r.Items...)
		}
		live := rapid.IntRange(0, 120).Draw(rt, "live")
		for i := range live {
			see(redis.Report{Items: []string{fmt.Sprint("live-", i)}})
		}
		held := rapid.IntRange(1, 900).Draw(rt, "held")
		step := rapid.SampledFrom([]time.Duration{0, time.Minute, 3 * time.Hour}).Draw(rt, "step")
		skew := rapid.SampledFrom([]time.Duration{-time.Hour, 0, 2 * time.Hour}).Draw(rt, "skew") // of the old store's clock
		var old []redis.Exposure
		for i := range held {
			old = append(old, redis.Exposure{ID: fmt.Sprint("old-", i), At: now.Add(skew - time.Duration(i)*step)})
		}
		info, err := f.Query(t.Context(), "u", "", nil)
		f.must(err)
		reports := redis.Plan(&policy, old, info, now)
		sent, at := 0, time.Time{}
		for _, r := range reports {
			if r.At.Before(at) {
				rt.Fatal("reports are not sent oldest first")
			}
			at = r.At
			sent += len(r.Items)
			see(r)
		}
		if sent > held || sent == 0 && live < 20 {
			rt.Fatalf("%d of %d sent", sent, held)
		}
		if got := f.unseenOf("u", shown...); len(got) > 0 {
			rt.Fatalf("%s: %d of %d came back, with %d live and %d imported", policy, len(got), len(shown), live, sent)
		}
	})
}

// TestPlanForgets: what a policy would forget is not sent.
func TestPlanForgets(t *testing.T) {
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, shanghai)
	ago := func(days int, id string) redis.Exposure { return redis.Exposure{ID: id, At: now.AddDate(0, 0, -days)} }
	list := []redis.Exposure{ago(0, "a"), ago(1, "b"), ago(1, "b"), ago(40, "c"), ago(400, "d"), {ID: ""}}
	for _, c := range []struct {
		policy string
		want   []string // oldest first
	}{
		{"calendar,months=3", []string{"c", "b", "a"}},
		{"calendar,months=1", []string{"c", "b", "a"}}, // April is read in May
		{"rotate", []string{"d", "c", "b", "a"}},
	} {
		p, err := state.ParsePolicy(c.policy)
		testbed.OK(t, err)
		reports := redis.Plan(&p, list, trace.History{}, now)
		var got []string
		for _, r := range reports {
			got = append(got, r.Items...)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.policy, got)
		}
	}
	p, _ := state.ParsePolicy("rotate")
	if reports := redis.Plan(&p, []redis.Exposure{ago(6, "x")}, trace.History{}, now); reports != nil {
		t.Errorf("a user who was away for six days: %v", reports)
	}
}

// TestPlanMonths: months and days of an import are those of the store, in whatever zone the old store's times are read.
func TestPlanMonths(t *testing.T) {
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, shanghai)
	p, _ := state.ParsePolicy("calendar")
	var old []redis.Exposure
	for i := range 1000 { // from the first hour of May back into April
		old = append(old, redis.Exposure{ID: fmt.Sprint(i), At: time.Date(2026, 5, 1, 1, 0, -10*i, 0, shanghai).UTC()})
	}
	for _, r := range redis.Plan(&p, old, trace.History{}, now) {
		for _, id := range r.Items {
			i, _ := strconv.Atoi(id)
			if got, want := r.At.In(shanghai).Month(), old[i].At.In(shanghai).Month(); got != want {
				t.Fatalf("item %s of %s is reported as of %s", id, want, got)
			}
		}
	}
}
