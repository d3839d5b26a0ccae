package exposure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"jianguo/exposure/state"
	"jianguo/internal/testbed"
)

var benchTime = time.Date(2024, 5, 20, 12, 0, 0, 0, shanghai)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// patience bounds every wait. It is far above what a slow machine needs.
const patience = 2 * time.Minute

// testClock is a time the test moves.
type testClock struct{ unix atomic.Int64 }

func newClock() *testClock {
	c := &testClock{}
	c.unix.Store(benchTime.Unix())
	return c
}

func (c *testClock) now() time.Time          { return time.Unix(c.unix.Load(), 0) }
func (c *testClock) advance(d time.Duration) { c.unix.Add(int64(d / time.Second)) }

// fixture is a store that a test can crash and reopen.
type fixture struct {
	t     testing.TB
	cfg   Config
	clock *testClock
	*Store
}

func newFixture(t testing.TB, cfg Config) *fixture {
	t.Helper()
	f := &fixture{t: t, cfg: cfg, clock: newClock()}
	if f.cfg.Path == "" {
		f.cfg.Path = filepath.Join(t.TempDir(), "exposure.db")
	}
	if f.cfg.Log == nil {
		log := NewMemoryLog()
		log.Clock = f.clock.now
		f.cfg.Log = log
	}
	f.cfg.Clock, f.cfg.Logger = f.clock.now, quiet
	if f.cfg.Rand == nil {
		f.cfg.Rand = zeros{} // a fixed secret, so that false positives are the same in each run
	}
	if f.cfg.SweepRate == 0 {
		f.cfg.SweepRate = -1
	}
	f.open()
	t.Cleanup(f.end)
	return f
}

func (f *fixture) open() {
	f.t.Helper()
	f.Store = openReady(f.t, f.cfg)
}

func (f *fixture) must(err error) {
	f.t.Helper()
	testbed.OK(f.t, err)
}

// crash drops everything that is only in memory.
func (f *fixture) crash() {
	f.Store.fail(errors.New("crash"))
	f.Store.Close()
	f.open()
}

// restart closes in good order.
func (f *fixture) restart() {
	f.t.Helper()
	f.must(f.Store.Close())
	f.open()
}

func (f *fixture) end() {
	f.t.Helper()
	f.Store.Close()
	if _, err := VerifyFile(context.Background(), f.cfg.Path); err != nil {
		f.t.Error(err)
	}
}

func (f *fixture) report(kind state.EventKind, user string, items ...string) {
	f.t.Helper()
	f.must(f.Expose(context.Background(), Event{Kind: kind, User: user, Items: items}))
}

func (f *fixture) unseenOf(user string, items ...string) []string {
	f.t.Helper()
	return unseenIn(f.t, f.Store, user, items...)
}

func unseenIn(t testing.TB, s *Store, user string, items ...string) []string {
	t.Helper()
	r, err := s.Filter(context.Background(), Request{User: user, Items: items})
	if err != nil || r.Degraded != "" {
		t.Fatalf("%+v %v", r, err)
	}
	return r.Items
}

func ids(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("item-%09d", i))
	}
	return out
}

func TestFirstUse(t *testing.T) {
	f := newFixture(t, Config{})
	f.report(state.Seen, "u", "a", "b")
	f.report(state.Delivered, "u", "c")
	if got := f.unseenOf("u", "d", "a", "c", "e", "d", "b"); !slices.Equal(got, []string{"d", "e"}) {
		t.Fatalf("got %v", got)
	}
	if got := f.unseenOf("v", "a"); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("another user: got %v", got)
	}
	f.crash()
	if got := f.unseenOf("u", "d", "a", "c"); !slices.Equal(got, []string{"d"}) {
		t.Fatalf("after a crash: got %v", got)
	}
	f.clock.advance(25 * time.Hour)
	if got := f.unseenOf("u", "a", "c"); !slices.Equal(got, []string{"c"}) {
		t.Fatalf("a day after: got %v", got)
	}
	f.must(f.Unsee(context.Background(), "u", "", []string{"a"}))
	f.restart()
	if got := f.unseenOf("u", "a", "b"); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("after un-see: got %v", got)
	}
	f.must(f.Forget(context.Background(), "u"))
	if got := f.unseenOf("u", "a", "b"); len(got) != 2 {
		t.Fatalf("after forget: got %v", got)
	}
}

func TestManyShards(t *testing.T) {
	for _, policy := range []state.Policy{{}, {Slots: 3, Large: 10000}, {Kind: state.Calendar}} {
		t.Run(policy.String(), func(t *testing.T) {
			f := newFixture(t, Config{Policies: map[string]state.Policy{"": policy}})
			seen := ids(0, 5000)
			for i := 0; i < len(seen); i += 37 {
				f.report(state.Seen, "u", seen[i:min(i+37, len(seen))]...)
				if i%1000 < 37 {
					f.must(f.Flush(context.Background()))
				}
			}
			for range 3 {
				keep := seen
				if policy.Kind != state.Calendar && policy.Large == 0 {
					keep = seen[1000:]
				}
				if got := f.unseenOf("u", keep...); len(got) != 0 {
					t.Fatalf("%d seen ids came back, first %v", len(got), got[0])
				}
				if got := f.unseenOf("u", ids(100000, 110000)...); len(got) < 9980 {
					t.Fatalf("only %d of 10,000 ids that were never seen were returned", len(got))
				}
				f.restart()
			}
			info, err := f.Query(context.Background(), "u", "", []string{seen[0], seen[4999]})
			f.must(err)
			t.Logf("%+v", info)
		})
	}
}

// openReady opens a store, and waits until it is ready.
func openReady(t rapid.TB, cfg Config) *Store {
	t.Helper()
	s, err := Open(context.Background(), cfg)
	testbed.OK(t, err)
	waitReady(t, s)
	return s
}

func waitReady(t rapid.TB, s *Store) {
	t.Helper()
	for deadline := time.Now().Add(patience); !s.Ready(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the store is not ready: ", s.Err())
		}
	}
}

// Unsee makes items eligible again: exactly where the tail or the ring holds them,
// by one of at most 64 exceptions where a shard does (ErrExceptions past that).
func (s *Store) Unsee(ctx context.Context, user, scene string, items []string) error {
	return s.Expose(ctx, Event{Kind: state.Unsee, User: user, Scene: scene, Items: items})
}

// Forget removes a user from every history. Ids already in the log leave it after
// eventlog.ErasureDelay.
func (s *Store) Forget(ctx context.Context, user string) error {
	return s.Expose(ctx, Event{Kind: state.Forget, User: user})
}

// metric is the value of a counter or gauge of a store.
func metric(t testing.TB, s *Store, name string) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(s.Collectors()...)
	all, err := r.Gather()
	testbed.OK(t, err)
	for _, m := range all {
		if m.GetName() == name {
			return m.Metric[0].GetCounter().GetValue() + m.Metric[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
