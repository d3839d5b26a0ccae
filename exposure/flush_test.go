package exposure

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
	"jianguo/internal/testbed"
)

// stateOf returns what a store remembers of a user.
func stateOf(t *testing.T, s *Store, user string) string {
	t.Helper()
	c, e, _ := s.entry("", user)
	defer c.release(e, true)
	e.mu.Lock()
	defer e.mu.Unlock()
	testbed.OK(t, s.load(t.Context(), e))
	testbed.OK(t, e.st.Need(s.db.fetch(t.Context())))
	return e.st.String()
}

// TestFlushIsABarrier stops a flush in the middle, changes users it has written and
// users it has yet to write, read or unread, lets it finish, and crashes. The file must
// then hold exactly what the events up to its sequence make of each user: not one more,
// not one fewer.
func TestFlushIsABarrier(t *testing.T) {
	halfway, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var armed bool
	writes := 0
	f := newFixture(t, Config{Policies: map[string]state.Policy{"": {Slots: 3, Capacity: 64, Tail: 16}}, FlushAge: time.Hour,
		Fail: func(point string) error {
			if point == "flush-write" && armed {
				if writes++; writes == 10 {
					once.Do(func() { close(halfway); <-goOn })
				}
			}
			return nil
		}})
	log := f.cfg.Log.(*MemoryLog)
	users := make([]string, 20)
	n := 0
	report := func(count int) {
		for u := range users {
			users[u] = fmt.Sprintf("u%02d", u)
			var items []string
			for range count {
				n++
				items = append(items, fmt.Sprint(n))
			}
			f.report([]state.EventKind{state.Delivered, state.Seen}[n/7%2], users[u], items...)
		}
	}
	report(30)
	f.report(state.Seen, "gone", "x")
	f.must(f.Flush(context.Background()))
	f.restart() // so that no user is in memory
	report(40)
	f.unseenOf("u03", "1") // these are read before the flush
	f.unseenOf("u17", "1")
	armed = true
	barrier := f.w.applied.Seq()
	flushed := make(chan error)
	go func() { flushed <- f.Flush(context.Background()) }()
	<-halfway
	report(50)
	f.unseenOf("u04", "1") // and these in its midst
	f.unseenOf("u18", "1")
	f.must(f.Forget(context.Background(), "u16"))
	f.must(f.Unsee(context.Background(), "u15", "", []string{fmt.Sprint(n), "1"}))
	report(3)
	close(goOn)
	f.must(<-flushed)
	live := map[string]string{}
	for _, u := range users {
		live[u] = stateOf(t, f.Store, u)
	}
	f.Store.fail(errors.New("crash"))
	f.Store.Close()

	// What the file holds, by a store whose log ends at the barrier; and what it should
	// hold, by a store that applied those events one by one.
	prefix := NewMemoryLog()
	prefix.entries = append(prefix.entries, log.entries[:barrier]...)
	open := func(path string, l eventlog.Log) *Store {
		c := f.cfg
		c.Path, c.Log, c.Fail = path, l, nil
		return openReady(t, c)
	}
	file := open(f.cfg.Path, prefix)
	if got := file.w.applied.Seq(); got != barrier {
		t.Fatalf("the file says %d, the barrier was %d", got, barrier)
	}
	want := open(filepath.Join(t.TempDir(), "b.db"), prefix)
	for _, u := range users {
		if got, want := stateOf(t, file, u), stateOf(t, want, u); got != want {
			t.Errorf("user %s in the file:\n got %s\nwant %s", u, got, want)
		}
	}
	want.Close()
	file.Close()
	// And replayed to the end it is what it was before the crash.
	again := open(f.cfg.Path, log)
	for _, u := range users {
		if got := stateOf(t, again, u); got != live[u] {
			t.Errorf("user %s after replay:\n got %s\nwant %s", u, got, live[u])
		}
	}
	again.Close()
	f.open()
}

// zeros gives every store the same secret, so that states can be compared.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// TestQuarantine: Verify reports a row that cannot be read, filters are answered without it
// as configured, and the user's next event sets it aside.
func TestQuarantine(t *testing.T) {
	for _, closed := range []bool{false, true} {
		f := newFixture(t, Config{FailClosed: closed})
		f.report(state.Seen, "u", "a")
		f.report(state.Seen, "v", "a")
		f.must(f.Flush(context.Background()))
		if _, err := f.db.write.Exec("UPDATE user SET head = substr(head, 1, 5) || x'ffff' || substr(head, 8) WHERE user = 'u'"); err != nil {
			t.Fatal(err)
		}
		f.Store.Close()
		if _, err := VerifyFile(context.Background(), f.cfg.Path); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("verify: %v", err)
		}
		f.open()
		r, err := f.Filter(context.Background(), Request{User: "u", Items: []string{"a", "b"}})
		if want := map[bool]int{false: 2, true: 0}[closed]; err != nil || len(r.Items) != want || r.Degraded == "" {
			t.Fatalf("fail closed %v: %+v, %v", closed, r, err)
		}
		f.report(state.Seen, "u", "b")
		f.restart()
		if got := f.unseenOf("u", "a", "b"); len(got) != 1 || got[0] != "a" {
			t.Fatalf("after quarantine: %v", got)
		}
		rep, err := VerifyFile(context.Background(), f.cfg.Path)
		if err != nil || rep.Quarantined != 1 || rep.Users != 2 {
			t.Fatalf("%+v, %v", rep, err)
		}
		f.must(f.Forget(context.Background(), "u"))
		f.restart()
		if rep, err = VerifyFile(context.Background(), f.cfg.Path); err != nil || rep.Quarantined != 0 || rep.Users != 1 {
			t.Fatalf("after forget: %+v, %v", rep, err)
		}
	}
}

// TestDamagedShard: filters of a user with a damaged shard are degraded, and the event that needs the shard sets the
// user aside; events of others go on.
func TestDamagedShard(t *testing.T) {
	for _, broken := range []string{"DELETE FROM shard", "UPDATE shard SET data = substr(data, 1, 20) || x'ffff' || substr(data, 23)"} {
		f := newFixture(t, Config{Policies: map[string]state.Policy{"": {Slots: 4, Capacity: 64, Tail: 16}}})
		report := func(from, to int) {
			for i := from; i < to; i++ {
				f.report(state.Seen, "u", fmt.Sprint("i", i))
			}
		}
		report(0, 40)
		f.must(f.Flush(t.Context()))
		f.restart()
		if _, err := f.db.write.Exec(broken); err != nil {
			t.Fatal(err)
		}
		if r, err := f.Filter(t.Context(), Request{User: "u", Items: []string{"i1", "new"}}); err != nil || r.Degraded == "" {
			t.Errorf("%+v, %v", r, err)
		}
		report(40, 80) // some of them fold the tail into the shard
		f.report(state.Seen, "v", "a")
		if err := f.Unsee(t.Context(), "u", "", []string{"i79"}); err != nil {
			t.Error(err)
		}
		f.restart()
		if got := f.unseenOf("u", "i78", "i79"); len(got) != 1 || got[0] != "i79" {
			t.Errorf("afterwards: %v", got)
		}
		if got := f.unseenOf("v", "a"); len(got) != 0 {
			t.Errorf("another user: %v", got)
		}
		f.must(f.Forget(t.Context(), "u"))
		f.restart()
		if rep, err := VerifyFile(t.Context(), f.cfg.Path); err != nil || rep.Quarantined != 0 || rep.Users != 1 {
			t.Errorf("forgotten: %+v, %v", rep, err)
		}
	}
}

// TestUnflushedIsBounded: while a flush hangs, the consumer stops at the bound of unflushed
// keys, and it applies the rest when the flush has ended.
func TestUnflushedIsBounded(t *testing.T) {
	const bound, each, events = 100, 7, 200
	var defaults Config
	if defaults.setDefaults(); defaults.MaxUnflushed != 262144 {
		t.Errorf("the bound is %d if none is given", defaults.MaxUnflushed)
	}
	goOn := make(chan struct{})
	log := NewMemoryLog()
	f := newFixture(t, Config{Log: log, MaxUnflushed: bound, FlushAge: time.Hour, Fail: func(point string) error {
		if point == "flush-begin" {
			<-goOn
		}
		return nil
	}})
	for i := range events {
		if _, err := log.Append(t.Context(), "exposures.seen.0", fmt.Appendf(nil, `{"user":"u%d","items":[1,2,3,4,5,6,7]}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	for f.w.unflushed.Load() < bound {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond) // for a consumer that would go on
	if n := f.w.unflushed.Load(); n >= bound+each {
		t.Errorf("%d keys are unflushed, the bound is %d", n, bound)
	}
	close(goOn)
	f.must(f.w.applied.Wait(t.Context(), events, f.Err))
}

// TestRelax: at_least gives back what only shards hold, oldest shard first, and never
// what the tail or the ring hold.
func TestRelax(t *testing.T) {
	// The secret is fixed, because a newer shard may have a false positive for an older key.
	f := newFixture(t, Config{Policies: map[string]state.Policy{"": {Slots: 5, Capacity: 64, Tail: 16}}})
	all := ids(0, 250)
	for _, id := range all {
		f.report(state.Seen, "u", id)
	}
	f.report(state.Delivered, "u", "d")
	ask := append([]string{"d", "new"}, all...)
	prev := 0
	for _, n := range []int{1, 2, 10, 64, 100, 400} {
		r, err := f.Filter(context.Background(), Request{User: "u", Items: ask, AtLeast: n})
		f.must(err)
		if len(r.Items) != 1 || r.Items[0] != "new" {
			t.Fatalf("at least %d: items %v", n, r.Items)
		}
		if n < 200 && len(r.Relaxed) != n-1 {
			t.Fatalf("at least %d: %d relaxed", n, len(r.Relaxed))
		}
		if r.Dropped+len(r.Relaxed) != 251 {
			t.Fatalf("at least %d: %d dropped, %d relaxed", n, r.Dropped, len(r.Relaxed))
		}
		for i, id := range r.Relaxed {
			// Shards fill in order of arrival, so whole shards come back in order.
			if full := (n - 1) / 64 * 64; i < full && id != all[i] {
				t.Fatalf("at least %d: relaxed %d is %s", n, i, id)
			}
			if id == "d" || id >= all[243] {
				t.Fatalf("at least %d: %s is in tail or ring", n, id)
			}
		}
		if len(r.Relaxed) < prev {
			t.Fatalf("asking for more gave less")
		}
		prev = len(r.Relaxed)
	}
	if prev < 200 {
		t.Fatalf("everything in shards should have come: %d", prev)
	}
}

// TestExceptionsAreBounded: the 65th exception is refused as a whole.
func TestExceptionsAreBounded(t *testing.T) {
	f := newFixture(t, Config{Policies: map[string]state.Policy{"": {Slots: 5, Capacity: 64, Tail: 16}}})
	ctx := context.Background()
	all := ids(0, 150)
	for _, id := range all {
		f.report(state.Seen, "u", id)
	}
	f.must(f.Unsee(ctx, "u", "", all[:64]))
	if err := f.Unsee(ctx, "u", "", all[64:65]); !errors.Is(err, ErrExceptions) {
		t.Fatalf("got %v", err)
	}
	f.crash()
	if got := f.unseenOf("u", all...); len(got) != 64 {
		t.Fatalf("%d of 64 un-seen items come back", len(got))
	}
	f.report(state.Seen, "u", all[:30]...) // seen again, they need no exception
	f.must(f.Unsee(ctx, "u", "", all[64:74]))
	if got := f.unseenOf("u", all...); len(got) != 44 || got[0] != all[30] {
		t.Fatalf("%d come back", len(got))
	}
}

// TestSeenAgainKeepsItsNewestDay: a late report of an older showing does not shorten
// the memory of the newer one, whether the key is still in the tail or not.
func TestSeenAgainKeepsItsNewestDay(t *testing.T) {
	for _, between := range []int{0, 100} {
		f := newFixture(t, Config{Policies: map[string]state.Policy{"": {Kind: state.Calendar, Capacity: 64, Tail: 16, Months: 1}}})
		f.report(state.Seen, "u", "a")
		for _, id := range ids(0, between) {
			f.report(state.Seen, "u", id)
		}
		// Before: in April, which is forgotten in June; now it is May.
		f.must(f.Expose(context.Background(), Event{Kind: state.Seen, User: "u", Items: []string{"a"}, At: f.clock.now().Add(-40 * 24 * time.Hour)}))
		f.clock.advance(30 * 24 * time.Hour)
		if got := f.unseenOf("u", "a", "new"); len(got) != 1 || got[0] != "new" {
			t.Fatalf("%d between: in June, got %v", between, got)
		}
	}
}

// TestNewerStateFile: Open and Verify refuse a file of a later version, and take one that does not say when its last
// entry was logged.
func TestNewerStateFile(t *testing.T) {
	f := newFixture(t, Config{})
	f.report(state.Seen, "u", "a")
	if _, err := f.db.write.Exec("UPDATE meta SET value = '99' WHERE name = 'format'"); err != nil {
		t.Fatal(err)
	}
	f.Store.Close()
	_, verr := VerifyFile(context.Background(), f.cfg.Path)
	s, err := Open(context.Background(), f.cfg)
	if err == nil {
		s.Close()
	}
	for what, err := range map[string]error{"verify": verr, "open": err} {
		if err == nil || !strings.Contains(err.Error(), "format 99, and this program reads 1") {
			t.Errorf("%s: %v", what, err)
		}
	}
	f.db, err = openDatabase(context.Background(), f.cfg.Path, false, nil)
	f.must(err)
	if _, err := f.db.write.Exec("UPDATE meta SET value = '1' WHERE name = 'format'; DELETE FROM meta WHERE name = 'logged'"); err != nil {
		t.Fatal(err)
	}
	f.db.close()
	f.open()
	if got := f.unseenOf("u", "a"); len(got) > 0 {
		t.Errorf("shown again: %q", got)
	}
}

// TestCloseWhileFlushFails: a flush that fails while the store is being closed has dropped what
// it was to write. Closing must not write a sequence that includes it.
func TestCloseWhileFlushFails(t *testing.T) {
	flushing, closing := make(chan struct{}), make(chan struct{})
	var armed sync.Once
	f := newFixture(t, Config{FlushAge: time.Hour, Fail: func(point string) error {
		var err error
		if point == "flush-commit" {
			armed.Do(func() {
				close(flushing)
				<-closing
				err = errors.New("broken")
			})
		}
		return err
	}})
	f.report(state.Seen, "u", ids(0, 10)...)
	failed := make(chan error)
	go func() { failed <- f.Flush(context.Background()) }()
	<-flushing
	closed := make(chan error)
	go func() { closed <- f.Close() }()
	for f.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	close(closing)
	if err := <-failed; err == nil {
		t.Error("the flush did not fail")
	}
	if err := <-closed; err == nil {
		t.Error("Close returned no error, and what it was to write is not in the file")
	}
	f.open()
	if got := f.unseenOf("u", ids(0, 10)...); len(got) != 0 {
		t.Errorf("lost after closing: %q", got)
	}
}
