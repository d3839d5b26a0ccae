package exposure

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"jianguo/exposure/state"
	"jianguo/exposure/story"
	"jianguo/exposure/trace"
)

// explained checks the text for an item against a pattern.
func (f *fixture) explained(user, item, want string) *trace.Explanation {
	f.t.Helper()
	x, err := f.Explain(f.t.Context(), user, item, "")
	f.must(err)
	if !regexp.MustCompile(`^` + want + `$`).MatchString(x.String()) {
		f.t.Errorf("%s: got\n%swant\n%s", item, x, want)
	}
	return x
}

// TestExplain: each place that can hold an item is named, with its time.
func TestExplain(t *testing.T) {
	f := newFixture(t, Config{Stories: story.New(), Policies: map[string]state.Policy{"": {Capacity: 64, Tail: 16}}})
	tell(f.cfg.Stories, 1, "original", "reprint")
	f.cfg.Stories.SetReady()
	now := f.clock.now().In(shanghai)
	day, at := now.Format(time.DateOnly), now.Format("2006-01-02 15:04")

	f.report(state.Seen, "ann", "original")
	f.report(state.Delivered, "ann", "d", "both")
	f.report(state.Seen, "ann", "both")
	f.report(state.Seen, "phone", "p")
	f.must(f.Expose(t.Context(), Event{Kind: state.Link, User: "ann", From: "phone"}))
	f.explained("ann", "original", `"original" for user "ann": a filter drops it.\n- seen on `+day+` \(tail, exact\)\n`)
	f.explained("ann", "d", `"d" for user "ann": a filter drops it.\n- delivered `+regexp.QuoteMeta(at)+` \(ring, exact, for 24 hours\)\n`)
	f.explained("ann", "both", `"both" .*\n- delivered .* \(ring, exact, for 24 hours\), and seen on `+day+`\n`)
	f.explained("ann", "p", `"p" for user "ann": a filter drops it.\n- linked user "phone": seen on .*\n`)
	f.explained("ann", "reprint", `"reprint" for user "ann": a filter returns it, but drops it with the scope story.\n- "original" of the same story: seen on .*\n`)
	f.explained("ann", "new\n", `"new\\n" for user "ann": a filter returns it.\n- held nowhere: never reported for this user, or no longer kept \(policy rotate,slots=5.*\)\n`)

	f.report(state.Seen, "ann", ids(0, 100)...)
	f.explained("ann", "original", `"original" .*\n- shard 1 of 2 \(1 is the oldest; filled with 64 of 64\): seen about \d+ to \d+ exposures ago, reported by `+day+
		`; or never shown, a false positive: p is 0.01\d % in this shard, 0.0\d* % in all\n`)
	x := f.explained("ann", "d", `"d" .*\n- delivered .*\n`)
	if x.Histories[0].Items[0].DeliveredAt == nil || !x.Dropped || !x.Story {
		t.Errorf("%+v", x)
	}
	f.must(f.Unsee(t.Context(), "ann", "", []string{"original"}))
	f.explained("ann", "original", `"original" for user "ann": a filter returns it.\n- un-seen, an exception to shard 1 of 2 .* exposures ago, .*\n`)
	f.clock.advance(25 * time.Hour)
	f.explained("ann", "d", `"d" .*\n- held nowhere: .*\n`)
	f.clock.advance(5 * 24 * time.Hour)
	f.explained("ann", "original", `"original" .* returns it.\n- held nowhere: .*\n`)

	f = newFixture(t, Config{Policies: map[string]state.Policy{"": {Kind: state.Calendar, Capacity: 64, Tail: 16}}})
	f.report(state.Seen, "ann", ids(0, 30)...)
	f.explained("ann", ids(0, 1)[0], `.* drops it.\n- shard 1 of 1 \(1 is the oldest; filled with \d+ of 64\): seen in `+now.Format("2006-01")+`; or never shown, a false positive: p is .*\n`)
	f.clock.advance(150 * 24 * time.Hour)
	f.report(state.Seen, "ann", "newest")
	f.explained("ann", ids(0, 30)[29], `.*\n- held nowhere: .*\n`)
}

// TestExplainFalsePositive: what was never shown, and tests positive in a shard, is said to be possibly that.
func TestExplainFalsePositive(t *testing.T) {
	f := newFixture(t, Config{Policies: map[string]state.Policy{"": {Capacity: 64, Tail: 16, Target: 0.05}}})
	f.report(state.Seen, "ann", ids(0, 300)...)
	unknown := make([]string, 5000)
	for i := range unknown {
		unknown[i] = fmt.Sprint("unknown-", i)
	}
	returned := f.unseenOf("ann", unknown...)
	wrong := 0
	for _, id := range unknown[:2000] {
		if !slices.Contains(returned, id) {
			wrong++
			f.explained("ann", id, `.* drops it.\n- shard \d of \d .*; or never shown, a false positive: p is (0.\d+|below 0.001) % in this shard, .* % in all\n`)
		}
	}
	if wrong == 0 {
		t.Error("no false positive was found")
	}
}
