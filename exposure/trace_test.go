package exposure

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"jianguo/exposure/state"
	"jianguo/exposure/story"
	"jianguo/exposure/trace"
)

func (f *fixture) traceOf(user string) string {
	f.t.Helper()
	t, err := f.Traces.Read(f.t.Context(), user)
	f.must(err)
	return t.String()
}

func (f *fixture) traced(user string, want ...string) {
	f.t.Helper()
	got := f.traceOf(user)
	for _, w := range want {
		if !regexp.MustCompile(w).MatchString(got) {
			f.t.Errorf("no %q in\n%s", w, got)
		}
	}
}

// TestTrace: a trace has every report and every filter answer, each once, across a crash and a restart, until it ends.
func TestTrace(t *testing.T) {
	f := newFixture(t, Config{Stories: story.New(), Policies: map[string]state.Policy{"": {Capacity: 64, Tail: 16}}})
	tell(f.cfg.Stories, 1, "original", "reprint")
	f.cfg.Stories.SetReady()
	ctx := t.Context()
	f.report(state.Seen, "ann", "before")
	f.clock.advance(time.Minute)
	f.must(f.Traces.Start(ctx, "ann", "24h", "ticket 7"))
	f.report(state.Seen, "ann", "original", "white space")
	f.report(state.Delivered, "ann", "ringed")
	f.report(state.Seen, "phone", "linked")
	f.report(state.Seen, "bob", "another's")
	f.must(f.Expose(ctx, Event{Kind: state.Link, User: "ann", From: "phone"}))
	ask := Request{User: "ann", Scope: "story", Max: 1, Items: []string{"new", "new", "newer", "original", "ringed", "linked", "reprint", "before"}}
	if _, err := f.Filter(ctx, ask); err != nil {
		t.Fatal(err)
	}
	want := []string{`^Trace of user "ann" from \d{4}-.* to .* \(ticket 7\)\n`,
		`\n\S+ \S+ seen: 2 ids\n    2 reported: "original" "white space"\n`, `delivered: 1 ids\n    1 reported: "ringed"\n`, `link linked user "phone"\n`,
		`filter, scope story, max 1: 8 ids\n    1 returned: "new"\n    1 repeated: "new"\n    1 unseen, beyond max: "newer"\n    2 dropped, seen on \S+ \(tail, exact\): "original" "before"\n`,
		`    1 dropped, delivered .* \(ring, exact, for 24 hours\): "ringed"\n    1 dropped, linked user "phone": seen on .*: "linked"\n    1 dropped, "original" of the same story: seen .*: "reprint"\n`}
	f.traced("ann", want...)
	whole := f.traceOf("ann")
	if strings.Contains(whole, "another") || strings.Contains(whole, "left out") {
		t.Error(whole)
	}
	f.crash() // events of the log are applied again
	f.restart()
	if got := f.traceOf("ann"); got != whole {
		t.Errorf("restarted:\n%s\nbefore:\n%s", got, whole)
	}
	f.report(state.Seen, "ann", ids(0, 200)...)
	f.unseenOf("ann", ids(0, 1)[0])
	f.traced("ann", `seen: 200 ids\n`, `filter: 1 ids\n    1 dropped, shard 1 of \d .*; or never shown, a false positive: p is (0.\d+|below 0.001) % in this shard, .* in all: `)
	if err := f.Unsee(ctx, "ann", "", ids(0, 150)); !errors.Is(err, ErrExceptions) {
		t.Fatal(err)
	}
	f.traced("ann", `unsee: 150 ids; refused: .*more than 64`)
	f.clock.advance(25 * time.Hour)
	whole = f.traceOf("ann")
	f.unseenOf("ann", "late")
	f.restart()
	if got := f.traceOf("ann"); got != whole {
		t.Errorf("after its end:\n%s", got)
	}
	f.clock.advance(6 * 24 * time.Hour)
	f.restart()
	if _, err := f.Traces.Read(ctx, "ann"); !errors.Is(err, trace.ErrNone) {
		t.Errorf("after seven days: %v", err)
	}
}

// TestTraceFlushed: a flush, after which a report is not read again, leaves the report in the trace.
func TestTraceFlushed(t *testing.T) {
	f := newFixture(t, Config{})
	f.must(f.Traces.Start(t.Context(), "ann", "1h", "test"))
	f.report(state.Seen, "ann", "a")
	f.must(f.Flush(t.Context()))
	killed := f.cfg // at this moment
	killed.Path = t.TempDir() + "/exposure.db"
	f.must(f.CopyTo(t.Context(), killed.Path))
	s, err := Open(t.Context(), killed)
	f.must(err)
	defer s.Close()
	if got, err := s.Traces.Read(t.Context(), "ann"); err != nil || len(got.Lines) != 1 {
		t.Errorf("%v %v", got, err)
	}
}

// TestTraceForgotten: forget erases the trace of the user and of linked users, and what other traces tell of them.
func TestTraceForgotten(t *testing.T) {
	f := newFixture(t, Config{})
	ctx := t.Context()
	for _, user := range []string{"ann", "phone", "bob"} {
		f.must(f.Traces.Start(ctx, user, "1h", "test"))
	}
	f.report(state.Seen, "phone", "a")
	for _, user := range []string{"ann", "bob"} {
		f.must(f.Expose(ctx, Event{Kind: state.Link, User: user, From: "phone"}))
		f.unseenOf(user, "a", "own")
	}
	f.traced("bob", `linked user "phone": seen`, `link linked user "phone"`, `returned: "own"`)
	f.must(f.Forget(ctx, "ann"))
	f.restart()
	for _, user := range []string{"ann", "phone"} {
		if _, err := f.Traces.Read(ctx, user); !errors.Is(err, trace.ErrNone) {
			t.Errorf("%s: %v", user, err)
		}
	}
	if got := f.traceOf("bob"); strings.Contains(got, "phone") {
		t.Errorf("of the forgotten user remains\n%s", got)
	}
	f.unseenOf("bob", "a")
	f.traced("bob", `1 returned: "a"`)
}

// TestTraceBounds: users and bytes are bounded; the oldest lines go first, and the trace says so.
func TestTraceBounds(t *testing.T) {
	f := newFixture(t, Config{})
	ctx := t.Context()
	for i := range 16 {
		f.must(f.Traces.Start(ctx, fmt.Sprint("u", i), "1h", "test"))
	}
	if err := f.Traces.Start(ctx, "one more", "1h", "test"); !errors.Is(err, trace.ErrTooMany) {
		t.Error(err)
	}
	var long []string
	for i := range 600 {
		long = append(long, fmt.Sprintf("%0250d", i))
	}
	for range 50 { // 125 kB each
		f.unseenOf("u1", long...)
		if len(f.traceOf("u1")) > 5<<20 {
			t.Fatal("too long")
		}
	}
	f.traced("u1", `\d\d lines are left out`, `600 returned: "0.* and 100 more\n`)
	f.traced("u2", "nothing was reported or asked yet")
	f.must(f.Traces.Start(ctx, "u1", "1h", "again"))
	f.traced("u1", `\(again\)\nnothing was reported or asked yet\n$`)
	f.must(f.Traces.Start(ctx, "u1", "0s", "end"))
	if _, err := f.Traces.Read(ctx, "u1"); !errors.Is(err, trace.ErrNone) {
		t.Error(err)
	}
	for _, c := range [][3]string{{"", "1h", "r"}, {"v", "", "r"}, {"v", "7d", "r"}, {"v", "169h", "r"}, {"v", "-1s", "r"}, {"v", "1h", ""}, {"v", "1h", strings.Repeat("r", 300)}} {
		if err := f.Traces.Start(context.Background(), c[0], c[1], c[2]); err == nil {
			t.Errorf("%q was taken", c)
		}
	}
}
