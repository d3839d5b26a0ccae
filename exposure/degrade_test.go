package exposure

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
	"jianguo/internal/streams"
	"jianguo/internal/testbed"
)

// TestDeadline: a request does not wait beyond its deadline for another request that holds
// the user's entry. It is answered as configured, and the answer says so.
func TestDeadline(t *testing.T) {
	for _, closed := range []bool{false, true} {
		f := newFixture(t, Config{FailClosed: closed})
		f.report(state.Seen, "u", "a")
		f.restart()
		c, e, _ := f.entry("", "u")
		e.mu.Lock() // until the answer is there: a request that waits for the lock never returns
		want := map[bool]Response{
			false: {Items: []string{"a", "b"}, Degraded: "open: the deadline passed"},
			true:  {Items: []string{}, Dropped: 2, Degraded: "closed: the deadline passed"},
		}[closed]
		for _, mark := range []string{"", "delivered"} {
			r, err := f.Filter(context.Background(), Request{User: "u", Items: []string{"a", "b"}, DeadlineMS: 1, Max: 2, Mark: mark})
			if err != nil || !reflect.DeepEqual(r, want) {
				t.Errorf("%+v, %v, want %+v", r, err, want)
			}
		}
		e.mu.Unlock()
		c.release(e, true)
		r, err := f.Filter(context.Background(), Request{User: "u", Items: []string{"a", "b"}, DeadlineMS: 3600000})
		if err != nil || r.Degraded != "" || len(r.Items) != 1 || r.Items[0] != "b" {
			t.Errorf("in time: %+v, %v", r, err)
		}
	}
}

// TestMarkTooLate: the answer says that a mark was not confirmed by the deadline, and is
// otherwise that of the user's state.
func TestMarkTooLate(t *testing.T) {
	f := newFixture(t, Config{})
	f.report(state.Seen, "u", "a")
	f.w.applyMu.Lock() // the report is logged, and applied only after the answer
	defer f.w.applyMu.Unlock()
	var r Response
	var err error
	for deadline := 100 * time.Millisecond; deadline < time.Minute; deadline *= 4 {
		r, err = f.Filter(context.Background(), Request{User: "u", Items: []string{"a", "b"}, DeadlineMS: int(deadline.Milliseconds()), Max: 2, Mark: "delivered"})
		if r.Degraded != "open: the deadline passed" { // else even the state was not read in time
			break
		}
	}
	if err != nil || len(r.Items) != 1 || r.Items[0] != "b" || r.Degraded != "mark: the deadline passed, and the report may or may not count" {
		t.Fatalf("%+v, %v", r, err)
	}
}

// gatedLog is a log whose entries come when the gate is opened.
type gatedLog struct {
	*MemoryLog
	open chan struct{}
}

func (l gatedLog) Consume(ctx context.Context, after streams.Point, fn func(eventlog.Entry) error) error {
	return l.MemoryLog.Consume(ctx, after, func(e eventlog.Entry) error {
		select {
		case <-l.open:
			return fn(e)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// TestReplaying: until everything logged before the start is applied, answers are
// degraded.
func TestReplaying(t *testing.T) {
	for _, closed := range []bool{false, true} {
		log := gatedLog{NewMemoryLog(), make(chan struct{})}
		for _, id := range []string{"a", "b"} {
			if _, err := log.Append(t.Context(), "exposures.seen.0", []byte(`{"user":"u","items":["`+id+`"]}`)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "e.db"), Log: log, Logger: quiet, FailClosed: closed})
		testbed.OK(t, err)
		defer s.Close()
		r, err := s.Filter(t.Context(), Request{User: "u", Items: []string{"a", "c"}})
		want := map[bool]string{false: "open: the server is still replaying its log", true: "closed: the server is still replaying its log"}[closed]
		if err != nil || s.Ready() || r.Degraded != want || len(r.Items) != map[bool]int{false: 2, true: 0}[closed] {
			t.Errorf("%+v, %v, ready %v", r, err, s.Ready())
		}
		close(log.open)
		waitReady(t, s)
		if r, err = s.Filter(t.Context(), Request{User: "u", Items: []string{"a", "b", "c"}}); err != nil || r.Degraded != "" || len(r.Items) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestFailedStoreLogsOnce: while the store has failed, filters are degraded without a line of the log for each.
func TestFailedStoreLogsOnce(t *testing.T) {
	f := newFixture(t, Config{})
	f.must(f.Store.Close())
	var log lines
	var broken atomic.Bool
	f.cfg.Logger, f.cfg.HealAfter = slog.New(slog.NewTextHandler(&log, nil)), time.Hour
	f.cfg.Fail = func(point string) error {
		if point == "flush-begin" && broken.Load() {
			return errors.New("no disk")
		}
		return nil
	}
	f.open()
	f.report(state.Seen, "u", "a")
	broken.Store(true)
	if err := f.Flush(t.Context()); err == nil {
		t.Fatal("it was flushed")
	}
	if r, err := f.Filter(t.Context(), Request{User: "u", Items: []string{"a"}}); err != nil || r.Degraded != "open: the state could not be read" {
		t.Errorf("%+v, %v", r, err)
	}
	log.without(t, "filter")
}

// lines are those of a log.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) without(t *testing.T, text string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.Contains(l.b.String(), text) {
		t.Errorf("the log has %q:\n%s", text, l.b.String())
	}
}
