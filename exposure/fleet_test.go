package exposure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
	"jianguo/internal/streams"
	"jianguo/internal/testbed"
)

// startRedis starts a redis-server and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // the name of a socket has to be short
	testbed.OK(t, err)
	socket := filepath.Join(dir, "socket")
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	if err := testbed.Start(cmd); err != nil {
		t.Fatalf("%v (Debian: apt-get install redis-server)", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if r, err := redis.Open("unix://"+socket, "x"); err == nil {
			r.Close()
			return "unix://" + socket
		}
	}
	t.Fatal("redis-server does not start")
	return ""
}

// fleetTest is a bus, a Redis, and two services that share it; and a store with a file of its own that applies
// the same log.
type fleetTest struct {
	t     *testing.T
	js    jetstream.JetStream
	redis string
	cfg   Config
	two   [2]*Store
	alone *fixture
}

func startFleet(t *testing.T, cfg Config) *fleetTest {
	f := &fleetTest{t: t, redis: startRedis(t), cfg: cfg}
	f.alone, f.js = natsFixture(t, eventlog.Config{Kinds: []string{string(state.Linked), string(state.Unlinked)}}, f.cfg)
	f.alone.clock.unix.Add(3600) // expiry goes by the log's time, which never is ahead of this clock
	f.cfg = f.alone.cfg
	for i := range f.two {
		f.open(i)
	}
	t.Cleanup(func() {
		for _, s := range f.two {
			s.Close()
		}
	})
	return f
}

func (f *fleetTest) must(err error) {
	f.t.Helper()
	testbed.OK(f.t, err)
}

func (f *fleetTest) open(i int) {
	f.t.Helper()
	cfg := f.cfg
	log, err := eventlog.Open(f.t.Context(), f.js, eventlog.Config{Kinds: []string{string(state.Linked), string(state.Unlinked)}}, quiet)
	f.must(err)
	cfg.Path, cfg.Log = filepath.Join(f.t.TempDir(), "exposure.db"), log
	cfg.Shared = sharedIn(f.t, f.js, f.redis, fmt.Sprint("s", i))
	if f.two[i], err = Open(f.t.Context(), cfg); err != nil {
		f.t.Fatal(err)
	}
}

// sharedIn is what a service needs that shares a Redis with others of a bus.
func sharedIn(t *testing.T, js jetstream.JetStream, address, name string) *Shared {
	t.Helper()
	bucket := func(ctx context.Context) (jetstream.KeyValue, error) { return redis.Bucket(ctx, js, "", 1) }
	conn, err := redis.Open(address, "test")
	testbed.OK(t, err)
	kv, err := bucket(t.Context())
	testbed.OK(t, err)
	acks, err := redis.Listen(js.Conn(), conn)
	testbed.OK(t, err)
	owners := &redis.Owners{KV: kv, Bucket: bucket, Name: fmt.Sprint(name, rand.Uint32()), Logger: quiet}
	return &Shared{Redis: conn, Acks: acks, Owners: owners}
}

// sharedState is what Redis holds of a user, without the time of the last exposure: a link and what it tells another user's owner are
// logged at two times.
func (f *fleetTest) sharedState(history, user string) string {
	rec, err := f.two[0].fleet.Redis.Get(f.t.Context(), state.Address{History: history, User: user})
	f.must(err)
	st, err := rec.State(state.Address{History: history, User: user})
	f.must(err)
	return timeless(st.String())
}

func timeless(s string) string {
	_, s, _ = strings.Cut(s, "excepted")
	return s
}

// same waits until Redis holds of each user what the other store holds.
func (f *fleetTest) same(users []string) {
	f.t.Helper()
	for _, user := range users {
		var got, want string
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			got, want = f.sharedState("", user), timeless(stateOf(f.t, f.alone.Store, user))
			if got == want {
				break
			}
			if time.Now().After(deadline) {
				f.t.Fatalf("user %s in Redis:\n%s\nand in a store of its own:\n%s", user, got, want)
			}
		}
	}
}

// verify verifies what is in Redis, at once if services are at work.
func (f *fleetTest) verify() (rep state.Report) {
	rep, wrong, err := redis.Verify(f.t.Context(), f.two[0].fleet.Redis, func(int64) {})
	if err := errors.Join(append(wrong, err)...); err != nil {
		f.t.Error(err)
	}
	return rep
}

// events exposes random events through both services, and asks the other one at once for what was seen.
func (f *fleetTest) events(r *rand.Rand, users []string, n int) {
	f.t.Helper()
	kinds := []state.EventKind{state.Seen, state.Seen, state.Seen, state.Seen, state.Delivered, state.Unsee, state.Unsee, state.Forget, state.Link, state.Unlink, state.Imported}
	for range n {
		ev := Event{Kind: kinds[r.IntN(len(kinds))], User: users[r.IntN(len(users))], At: time.Now().Add(-time.Duration(r.IntN(7200)) * time.Second)}
		if ev.Kind == state.Forget && r.IntN(4) > 0 {
			ev.Kind = state.Seen
		}
		if ev.Kind.Links() {
			if ev.From = users[r.IntN(len(users))]; ev.From == ev.User {
				continue
			}
		} else if ev.Kind.Items() {
			for range 1 + r.IntN(20) {
				ev.Items = append(ev.Items, fmt.Sprint("i", r.IntN(400)))
			}
		}
		i := r.IntN(2)
		before, err := f.two[i].cfg.Log.State(f.t.Context())
		f.must(err)
		ctx, cancel := context.WithTimeout(f.t.Context(), patience) // a Redis that has ended would be waited for without an end
		err = f.two[i].Expose(ctx, ev)
		cancel()
		if err != nil && !errors.Is(err, ErrLink) && !errors.Is(err, ErrExceptions) {
			f.t.Fatalf("%+v: %v", ev, err)
		}
		if ev.Kind == state.Seen {
			if got := unseenIn(f.t, f.two[1-i], ev.User, ev.Items...); len(got) > 0 && !f.takenBack(ev.User, before.Last) {
				f.t.Fatalf("%s: %q were seen, and the other service does not know it", ev.User, got)
			}
		}
	}
}

// takenBack reports whether the log has, behind a sequence, an event that takes items of a user back: over several links,
// what another user has un-seen or forgotten reaches this one in its own time.
func (f *fleetTest) takenBack(user string, after uint64) bool {
	f.t.Helper()
	stream, err := f.js.Stream(f.t.Context(), eventlog.StreamName)
	f.must(err)
	for _, kind := range []state.EventKind{state.Unsee, state.Forget} {
		subject := (&Event{Kind: kind}).subject(redis.PartitionOf(user))
		for seq := after + 1; ; seq++ {
			m, err := stream.GetMsg(f.t.Context(), seq, jetstream.WithGetMsgSubject(subject))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				break
			}
			f.must(err)
			if seq = m.Sequence; wire.UserOf(m.Data) == user {
				return true
			}
		}
	}
	return false
}

// small is a policy that folds and rotates often.
var small = state.Policy{Slots: 3, Capacity: 64, Tail: 8, Target: 1e-6}

// TestSharedStore: what two services make of a log in Redis is what one makes of it in its file, whichever
// service owns which users, and a report that one has answered is known to the other.
func TestSharedStore(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{Policies: map[string]state.Policy{"": small}})
	r := rand.New(rand.NewPCG(1, 2))
	users := make([]string, 24)
	for i := range users {
		users[i] = fmt.Sprint("u", i)
	}
	for round := range testbed.Count(3, 8, 60) {
		var verified sync.WaitGroup
		verified.Go(func() {
			for range 20 {
				f.verify()
			}
		})
		f.events(r, users, 150)
		verified.Wait()
		f.must(f.two[round%2].Close())
		f.open(round % 2)
	}
	f.same(users)
	held := 0
	for _, u := range users {
		held += strings.Count(f.sharedState("", u), " shard ")
	}
	if rep := f.verify(); rep.Shards != int64(held) || rep.Users+rep.Forgotten != int64(len(users)) {
		t.Errorf("verified: %+v, and there are %d shards", rep, held)
	}
	if held < 10 {
		t.Errorf("%d shards: nothing was folded", held)
	}
	if f.two[0].fleet.Owners.Owned.Load() == redis.Partitions {
		t.Error("one service owns all users")
	}
}

// TestFleetCountsOnce: a filter counts one hit or one miss, and each item that it drops once, also where the state in
// memory is older than the one in Redis.
func TestFleetCountsOnce(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	for i, want := range []string{"0 1 1", "1 1 2", "1 2 4", "2 2 6"} { // hits, misses, items dropped
		if i%2 == 0 {
			testbed.OK(t, f.seen(f.two[0], "u", fmt.Sprint("i", i)))
		}
		unseenIn(t, f.two[1], "u", "i0", "i2", "other")
		values := map[string]float64{}
		families, err := f.two[1].metrics.all.Gather()
		testbed.OK(t, err)
		for _, m := range families {
			values[strings.TrimPrefix(m.GetName(), "jianguo_exposure_")] = m.GetMetric()[0].GetCounter().GetValue()
		}
		if got := fmt.Sprint(values["cache_hits_total"], values["cache_misses_total"], values["filter_dropped_exact_total"]); got != want {
			t.Errorf("filter %d: %s, want %s", i, got, want)
		}
	}
}

// TestFence: two services that both take themselves for the owner of all users, as one does that was
// stopped for longer than its lease, lose no report and bring nothing back.
func TestFence(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{Policies: map[string]state.Policy{"": small}})
	ctx, stop := context.WithCancel(t.Context())
	var usurpers sync.WaitGroup
	fenced := make(chan error, 1000)
	for p := range redis.Partitions {
		for _, s := range f.two {
			usurpers.Go(func() {
				for ctx.Err() == nil {
					err := s.fleet.own(ctx, p) // without a lease
					if errors.Is(err, redis.ErrFenced) {
						select {
						case fenced <- err:
						default:
						}
					}
					time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
				}
			})
		}
	}
	users := []string{"a", "b", "c", "d"}
	f.events(rand.New(rand.NewPCG(3, 4)), users, testbed.Count(300, 1000, 20000))
	stop()
	usurpers.Wait()
	f.same(users)
	f.verify()
	if len(fenced) == 0 {
		t.Error("no owner was fenced")
	}
}

// TestFencedWrites: a former owner can neither acknowledge nor write an earlier state, not even of a user who was forgotten.
func TestFencedWrites(t *testing.T) {
	conn, err := redis.Open(startRedis(t), "test")
	testbed.OK(t, err)
	defer conn.Close()
	ctx := t.Context()
	first, err := conn.Acquire(ctx, 3, "log", 10)
	testbed.OK(t, err)
	second, err := conn.Acquire(ctx, 3, "log", 10)
	if err != nil || second.Epoch <= first.Epoch || second.Base != first.Base {
		t.Fatal(first, second, err)
	}
	if err := conn.Advance(ctx, 3, first.Epoch, streams.Point{Seq: 7}, nil); !errors.Is(err, redis.ErrFenced) {
		t.Errorf("a former owner has advanced: %v", err)
	}
	if err := conn.Advance(ctx, 3, second.Epoch, streams.Point{Seq: 7}, nil); err != nil {
		t.Error(err)
	}
	key := state.Address{User: "u"}
	version := func(epoch, seq uint64) redis.Version { return redis.Version{Epoch: epoch, Seq: seq} }
	write := func(found, to redis.Version, head string) error {
		have := found.String()
		if found == (redis.Version{}) {
			have = ""
		}
		return conn.Put(ctx, []redis.Write{{Address: key, TTL: time.Hour, Found: have, Record: redis.Record{Version: to, Head: []byte(head)}}})
	}
	testbed.OK(t, write(redis.Version{}, version(first.Epoch, 4), "head"))
	for range 2 { // a write may be repeated
		testbed.OK(t, write(version(first.Epoch, 4), version(second.Epoch, 5), "head"))
	}
	if err := write(version(second.Epoch, 5), version(second.Epoch, 6), ""); err != nil { // forgotten
		t.Fatal(err)
	}
	for _, found := range []redis.Version{{}, version(first.Epoch, 4), version(second.Epoch, 5)} {
		for _, to := range []redis.Version{version(first.Epoch, 9), version(second.Epoch, 9)} { // the second one has read too early
			if err := write(found, to, "old"); !errors.Is(err, redis.ErrFenced) {
				t.Errorf("written over a version that was not read: %v", err)
			}
		}
	}
	if err := write(version(second.Epoch, 6), version(first.Epoch, 9), "old"); !errors.Is(err, redis.ErrFenced) {
		t.Errorf("a former owner has written: %v", err)
	}
	rec, err := conn.Get(ctx, key)
	if err != nil || rec.Head != nil || rec.Version.Seq != 6 {
		t.Errorf("%+v, %v", rec, err)
	}
	// Another log, and one that has lost its end, start a new count.
	third, err := conn.Acquire(ctx, 3, "log", 4)
	if err != nil || third.Applied != 4 || third.Base != third.Epoch {
		t.Errorf("a log that ends at 4: %+v, %v", third, err)
	}
	fourth, err := conn.Acquire(ctx, 3, "another", 9)
	if err != nil || fourth.Applied != 0 || fourth.Base != fourth.Epoch {
		t.Errorf("another log: %+v, %v", fourth, err)
	}
}

// TestMovesIntoRedis: users' histories of a directory are not left behind without a word.
func TestMovesIntoRedis(t *testing.T) {
	f := startFleet(t, Config{})
	f.alone.report(state.Seen, "u", "a")
	f.must(f.alone.Close())
	for _, s := range f.two {
		s.Close()
	}
	redis, err := redis.Open(f.redis, "empty")
	f.must(err)
	defer redis.Close()
	cfg := f.alone.cfg
	cfg.Shared = &Shared{Redis: redis}
	if _, err := Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "jianguo migrate") {
		t.Errorf("opened: %v", err)
	}
	if secret, err := redis.Secret(t.Context(), nil); err != nil || secret != nil {
		t.Errorf("the Redis has a secret now: %v", err)
	}
}

// TestMovedLinks: records with links are kept when they have moved to a Redis, whatever else they hold: others may be
// linked over them.
func TestMovedLinks(t *testing.T) {
	f := newFixture(t, Config{})
	f.report(state.Seen, "phone", "a")
	f.must(f.Expose(t.Context(), Event{Kind: state.Link, User: "ann", From: "phone"}))
	f.must(f.Flush(t.Context()))
	conn, err := redis.Open(startRedis(t), "test")
	f.must(err)
	defer conn.Close()
	move := Move{File: f.cfg.Path, Redis: conn, Kept: func(string) time.Duration { return 5 * 24 * time.Hour }, Progress: func(string, int64, int64) {}}
	_, err = move.Import(t.Context(), func(map[string]string) error { return nil })
	f.must(err)
	for _, user := range []string{"ann", "phone"} {
		left, err := conn.Client.Do(t.Context(), conn.Client.B().Pttl().Key(conn.Name(state.Address{User: user})).Build()).AsInt64()
		if ttl := time.Duration(left) * time.Millisecond; err != nil || ttl < 4*24*time.Hour {
			t.Errorf("the link is kept for %s with %s: %v", ttl, user, err)
		}
	}
}
