package exposure

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/internal/testbed"
)

// TestDeadIsFlushedSoon: what was set aside is not read again after a kill, long before the next flush would be due.
func TestDeadIsFlushedSoon(t *testing.T) {
	log := NewMemoryLog()
	if _, err := log.Append(t.Context(), eventlog.SubjectPrefix+"nonsense", nil); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{Path: t.TempDir() + "/e.db", Log: log, Logger: quiet, FlushAge: 8 * time.Second})
	testbed.OK(t, err)
	defer s.Close()
	for deadline := time.Now().Add(5 * time.Second); s.w.flushed.Load() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is not in the file")
		}
	}
}

// TestDead: an event that cannot be applied is kept before any later one counts, and
// again after a crash in between. Config.Forgotten is called in the same way.
func TestDead(t *testing.T) {
	log := NewMemoryLog()
	for _, e := range [][2]string{
		{"seen.0", `{"user":"u","items":["a"]}`},
		{"seen.0", `{"user":"\u0062ob","items":7}`},
		{"nonsense", `{"user":["x"]}`},
		{"forget.0", `{"user":"v"}`},
		{"seen.0", `{"user":"w","items":["c"],"at":"9999-12-31T23:59:59-23:00"}`},
		{"forget.0", `{"user":"u","items":["a"]}`}, // of one item, its sender thinks
		{"seen.0", `{"user":"u","items":["b"]}`},
	} {
		if _, err := log.Append(context.Background(), eventlog.SubjectPrefix+e[0], []byte(e[1])); err != nil {
			t.Fatal(err)
		}
	}
	var kept []string // by the consumer's goroutine, read after Close
	failures := 2
	try := func(what string) error {
		if failures--; failures >= 0 {
			return errors.New("no room")
		}
		kept = append(kept, what)
		return nil
	}
	cfg := Config{Path: t.TempDir() + "/e.db", Log: log, Logger: quiet, FlushAge: time.Hour,
		Dead: func(_ context.Context, e eventlog.Entry, user string, _ error) error {
			return try(e.Subject + " of " + user)
		},
		Forgotten: func(_ context.Context, user string) error { return try("forget " + user) }}
	want := []string{"exposures.seen.0 of bob", "exposures.nonsense of ", "forget v", "exposures.seen.0 of w", "exposures.forget.0 of u"}
	for range 2 {
		s := openReady(t, cfg)
		r, err := s.Filter(context.Background(), Request{User: "u", Items: []string{"a", "b", "c"}})
		if err != nil || !slices.Equal(r.Items, []string{"c"}) {
			t.Fatal(r, err)
		}
		s.fail(errors.New("crash")) // nothing was flushed
		s.Close()
		if !slices.Equal(kept, want) {
			t.Fatalf("kept %q, want %q", kept, want)
		}
		kept, failures = nil, 1
	}
	// A store that is closed meanwhile has not applied the event.
	failures = 1 << 30
	s, err := Open(context.Background(), cfg)
	testbed.OK(t, err)
	for deadline := time.Now().Add(patience); s.w.applied.Seq() < 1 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	testbed.OK(t, s.Close())
	if got := s.w.flushed.Load(); got != 1 {
		t.Fatalf("flushed up to %d, want 1", got)
	}
}
