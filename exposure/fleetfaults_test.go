package exposure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/internal/clock"
	"jianguo/internal/testbed"
)

// do has the Redis of a fleet execute a command.
func (f *fleetTest) do(words ...string) {
	f.t.Helper()
	c := f.two[0].fleet.Redis.Client
	if err := c.Do(f.t.Context(), c.B().Arbitrary(words...).Build()).Error(); err != nil {
		f.t.Fatal(words, err)
	}
}

func (f *fleetTest) eventually(what string, true func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); !true(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatal("not within the time: ", what)
		}
	}
}

// restart ends both services and starts them again.
func (f *fleetTest) restart() {
	f.t.Helper()
	for _, s := range f.two {
		f.must(s.Close())
	}
	for i := range f.two {
		f.open(i)
	}
}

// seen reports an item through one service.
func (f *fleetTest) seen(s *Store, user, item string) error {
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	return s.Expose(ctx, Event{Kind: state.Seen, User: user, Items: []string{item}})
}

// TestDamagedRecords: whatever is wrong with a record, a report that is answered is known, and others of the partition
// go on. What the head holds is kept where it can be read, and otherwise set aside until the user is forgotten.
func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{Policies: map[string]state.Policy{"": small}})
	for name, c := range map[string]struct {
		damage func(key string)
		kept   bool
	}{
		"a string":               {func(key string) { f.do("DEL", key); f.do("SET", key, "text") }, false},
		"a stream":               {func(key string) { f.do("DEL", key); f.do("XADD", key, "*", "a", "b") }, false},
		"a head that is none":    {func(key string) { f.do("HSET", key, "h", "head") }, false},
		"no shards":              {func(key string) { f.hdelShards(key) }, false},
		"a version that is none": {func(key string) { f.do("HSET", key, "v", "ff") }, true},
		"an empty version":       {func(key string) { f.do("HSET", key, "v", "") }, true},
		"the last version":       {func(key string) { f.do("HSET", key, "v", strings.Repeat("f", 32)) }, true},
		"an epoch to come":       {func(key string) { f.do("HSET", key, "v", fmt.Sprintf("%016x%016x", 0xff, 1)) }, true},
		"an entry to come":       {func(key string) { f.do("HSET", key, "v", fmt.Sprintf("%016x%016x", 1, 1<<40)) }, true},
		"a field that is none":   {func(key string) { f.do("HSET", key, "colour", "red") }, true},
	} {
		user, neighbour := name, name
		for n := 0; neighbour == user || redis.PartitionOf(neighbour) != redis.PartitionOf(user); n++ {
			neighbour = fmt.Sprint(name, n)
		}
		f.must(f.two[0].Expose(t.Context(), Event{Kind: state.Seen, User: user, Items: ids(0, 80)}))
		unseenIn(t, f.two[1], user, "new") // which has the state in memory from now on
		c.damage("test:{" + user + "}:")
		for i, who := range []string{neighbour, user, user} {
			if err := f.seen(f.two[i%2], who, fmt.Sprint("new", i)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		want := []string{"new1", "new2"} // of those, what was seen; a service may ask for them in any order
		if c.kept {
			want = append(want, ids(0, 80)...)
		}
		// Enough to fold, which needs the shards.
		if err := f.two[1].Expose(t.Context(), Event{Kind: state.Seen, User: user, Items: ids(80, 100)}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, s := range f.two {
			if got := unseenIn(t, s, user, append(want, ids(80, 100)...)...); len(got) > 0 {
				t.Errorf("%s: service %d returns what was seen: %q", name, i, got)
			}
		}
		others := func() []string {
			rec, err := f.two[0].fleet.Redis.Get(t.Context(), state.Address{User: user})
			f.must(err)
			return rec.Others
		}
		if got := slices.Contains(others(), redis.Aside); got == c.kept {
			t.Errorf("%s: set aside: %v", name, got)
		}
		if err := f.two[0].Forget(t.Context(), user); err != nil || len(others()) > 0 {
			t.Errorf("%s: after a forget %q, %v", name, others(), err)
		}
	}
	f.verify()
}

func (f *fleetTest) hdelShards(key string) {
	c := f.two[0].fleet.Redis.Client
	fields, err := c.Do(f.t.Context(), c.B().Hkeys().Key(key).Build()).AsStrSlice()
	if err != nil || len(fields) < 3 {
		f.t.Fatal("no shards: ", fields, err)
	}
	for _, field := range fields {
		if field != "v" && field != "h" {
			f.do("HDEL", key, field)
		}
	}
}

// TestForgedProgress: a report is not answered by what a client of the bus says, and a Redis that has stopped is named.
func TestForgedProgress(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	f.must(f.seen(f.two[0], "u", "a"))
	log, err := f.two[0].cfg.Log.State(t.Context())
	f.must(err)
	f.do("CLIENT", "PAUSE", "600000", "ALL")
	forge := func() {
		for p := range redis.Partitions {
			_ = f.js.Conn().Publish(fmt.Sprint("histories.applied.", p), fmt.Appendf(nil, `{"log":%q,"seq":%d}`, log.ID, 1<<40))
		}
	}
	done := make(chan error, 1)
	go func() { done <- f.seen(f.two[0], "u", "b") }()
	for {
		forge()
		select {
		case err := <-done:
			if !errors.Is(err, ErrAway) || !strings.Contains(err.Error(), "Redis") {
				t.Errorf("a report while Redis is stopped: %v", err)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestRefusedIsAnswered: what an owner refuses is an error for the client that waits, on any service.
func TestRefusedIsAnswered(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	for i := range testbed.Count(20, 50, 200) {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		f.must(f.two[i%2].Expose(t.Context(), Event{Kind: state.Link, User: a, From: b}))
		if err := f.two[1-i%2].Expose(t.Context(), Event{Kind: state.Link, User: b, From: a}); !errors.Is(err, ErrLink) {
			t.Errorf("a circle: %v", err)
		}
	}
}

// TestRefusedForGood: what was refused is not applied by an owner that begins again, after what stood in its way is gone.
func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	link := func(kind state.EventKind, user, from string) error {
		return f.two[0].Expose(t.Context(), Event{Kind: kind, User: user, From: from})
	}
	for _, from := range []string{"b", "c", "d", "e"} {
		f.must(link(state.Link, string(from[0]-1), from))
	}
	for _, u := range []string{"b", "c", "d", "e"} { // behind what the links tell their owners
		f.must(f.seen(f.two[0], u, "last"))
	}
	if err := link(state.Link, "e", "f"); !errors.Is(err, ErrLink) {
		t.Fatal("a fifth link in a row:", err)
	}
	f.must(link(state.Unlink, "a", "b"))
	f.must(f.seen(f.two[0], "f", "x"))
	f.restart()
	for i := 0; i < 100; i++ { // a report of each partition is behind what is applied again
		f.must(f.seen(f.two[0], fmt.Sprint("u", i), "last"))
	}
	if got := unseenIn(t, f.two[1], "e", "x"); len(got) == 0 {
		t.Error("a refused link counts")
	}
}

// TestLinkedUnseeIsRefused: an un-see that a linked user, of another partition too, cannot take is refused as a whole.
func TestLinkedUnseeIsRefused(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{Policies: map[string]state.Policy{"": small}})
	var items []string
	for i := range 120 {
		items = append(items, fmt.Sprint("i", i))
	}
	for i := range 4 {
		user, from := fmt.Sprint("ann", i), fmt.Sprint("phone", i)
		for _, ev := range []Event{{Kind: state.Seen, User: from, Items: items}, {Kind: state.Link, User: user, From: from},
			{Kind: state.Seen, User: user, Items: items[:1]}} {
			f.must(f.two[0].Expose(t.Context(), ev))
		}
		err := f.two[0].Expose(t.Context(), Event{Kind: state.Unsee, User: user, Items: items[:80]})
		if got := unseenIn(t, f.two[0], user, items[0]); !errors.Is(err, ErrExceptions) || len(got) > 0 {
			t.Errorf("%s: %v, returned: %q", user, err, got)
		}
		if err := f.two[0].Expose(t.Context(), Event{Kind: state.Unsee, User: user, Items: items[:60]}); err != nil {
			t.Error(err)
		}
		f.eventually("all are returned", func() bool { return len(unseenIn(t, f.two[0], user, items[:60]...)) == 60 })
	}
}

// TestLinksOutliveASilentUser: as long as one of the users of a chain is active, the record of none expires, which would
// take links with it.
func TestLinksOutliveASilentUser(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	users, client := []string{"ann", "phone", "tablet"}, f.two[0].fleet.Redis.Client
	for i, from := range users[1:] {
		f.must(f.two[0].Expose(t.Context(), Event{Kind: state.Link, User: users[i], From: from}))
		f.eventually("linked", func() bool { return strings.Contains(f.sharedState("", from), users[i]) })
	}
	for _, silent := range users {
		name := f.two[0].fleet.Redis.Name(state.Address{User: silent})
		for i, active := range users {
			if active == silent {
				continue
			}
			f.do("PEXPIRE", name, "60000") // as if it had been silent for long
			f.must(f.seen(f.two[0], active, fmt.Sprint("i", i)))
			if left, err := client.Do(t.Context(), client.B().Pttl().Key(name).Build()).AsInt64(); err != nil || left < 3_600_000 {
				t.Errorf("%s goes in %d ms while %s is active: %v", silent, left, active, err)
			}
		}
	}
}

// TestLinkedBothWays: two owners that each take a link at the same time make a circle of them. An un-see and a forget go
// round it once, and what is seen afterwards stays.
func TestLinkedBothWays(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	conn, policy := f.two[0].fleet.Redis, f.two[0].policies[""]
	for user, from := range map[string]string{"a": "b", "b": "a"} {
		f.must(f.seen(f.two[0], user, "x"))
		addr := state.Address{User: user}
		rec, err := conn.Get(t.Context(), addr)
		f.must(err)
		st, err := rec.State(addr)
		f.must(err)
		for _, kind := range []state.EventKind{state.Link, state.Linked} {
			f.must(st.Apply(policy, &state.Event{Kind: kind, From: from, Logged: time.Now(), Now: time.Now()}, nil))
		}
		w := redis.Write{Address: addr, Record: *rec, Found: rec.Stored, TTL: time.Hour}
		w.Head = st.Snapshot(addr, nil).Head
		f.must(conn.Put(t.Context(), []redis.Write{w}))
	}
	for i, take := range []Event{{Kind: state.Unsee, User: "a", Items: []string{"x"}}, {Kind: state.Forget, User: "a"}} {
		f.must(f.two[i].Expose(t.Context(), take))
		f.eventually("returned", func() bool { return len(unseenIn(t, f.two[0], "a", "x")) > 0 })
		for _, user := range []string{"a", "b"} {
			f.must(f.seen(f.two[0], user, "x"))
		}
		for range 20 { // enough for an event that goes round
			for _, user := range []string{"a", "b"} {
				f.must(f.seen(f.two[0], user, "y"))
				if got := unseenIn(t, f.two[1], user, "x"); len(got) > 0 {
					t.Fatalf("%s: %q was seen again", user, got)
				}
			}
		}
	}
}

// TestHandedOnOnce: an event that was published without a partition counts once, before what came after it, also when
// its owner begins again.
func TestHandedOnOnce(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	zero, others := "", []string(nil)
	for i := 0; zero == "" || len(others) < 2; i++ {
		if u := fmt.Sprint("u", i); redis.PartitionOf(u) == 0 {
			zero = u
		} else {
			others = append(others, u)
		}
	}
	back, kept := others[0], others[1]
	applied := func() { // what partition 0 has handed on, too
		for _, u := range []string{zero, back, kept} {
			f.must(f.seen(f.two[0], u, "last"))
		}
	}
	for subject, body := range map[string]string{"exposures.seen": `{"user":"` + back + `","items":["x"]}`,
		"exposures.forget": `{"user":"` + kept + `"}`} {
		if _, err := f.js.Publish(t.Context(), subject, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	applied()
	if got := unseenIn(t, f.two[1], back, "x"); len(got) > 0 {
		t.Fatal("x is not seen")
	}
	f.must(f.two[0].Expose(t.Context(), Event{Kind: state.Unsee, User: back, Items: []string{"x"}}))
	f.must(f.seen(f.two[0], kept, "y"))
	f.restart()
	applied()
	if got := unseenIn(t, f.two[1], back, "x"); len(got) == 0 {
		t.Error("what was un-seen is seen again")
	}
	if got := unseenIn(t, f.two[1], kept, "y"); len(got) > 0 {
		t.Error("what was seen after a forget is forgotten")
	}
}

// TestSecretLost: a secret that Redis has lost comes back from a service that runs. Without one, no service starts over
// histories that it cannot read.
func TestSecretLost(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	f.must(f.seen(f.two[0], "u", "a"))
	conn, err := redis.Open(f.redis, "test")
	f.must(err)
	defer conn.Close()
	f.do("DEL", "test:secret")
	f.eventually("the secret is back", func() bool { s, err := conn.Secret(t.Context(), nil); return err == nil && s != nil })
	f.two[1].Close()
	f.open(1)
	if got := unseenIn(t, f.two[1], "u", "a"); len(got) > 0 {
		t.Errorf("seen again: %q", got)
	}
	cfg := f.cfg
	cfg.Path, cfg.Log, cfg.Shared = t.TempDir()+"/exposure.db", f.two[0].cfg.Log, &Shared{Redis: conn}
	for _, s := range f.two {
		s.Close()
	}
	f.must(conn.Client.Do(t.Context(), conn.Client.B().Del().Key("test:secret").Build()).Error())
	_, err = Open(t.Context(), cfg)
	if !errors.Is(err, redis.ErrLive) || !strings.Contains(err.Error(), "restore the key test:secret") || !strings.Contains(err.Error(), "to start afresh") {
		t.Errorf("a start without the secret: %v", err)
	}
	if s, err := conn.Secret(t.Context(), nil); err != nil || s != nil {
		t.Errorf("there is another secret now: %v", err)
	}
}

// TestRedisLosesData: what one of several servers of Redis has lost is read from the log again, also of users who have
// reported since, and whose partition has its progress on another server.
func TestRedisLosesData(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	f.must(f.seen(f.two[0], "u", "a"))
	other := "v"
	for redis.PartitionOf(other) == redis.PartitionOf("u") {
		other += "v"
	}
	f.must(f.seen(f.two[0], other, "a"))
	time.Sleep(2 * time.Second) // each service looks once a second how far owners are
	f.do("DEL", "test:{u}:")
	f.must(f.seen(f.two[0], "u", "b"))
	f.do("DEL", fmt.Sprint("test:part:", redis.PartitionOf(other)))
	for i, s := range f.two {
		f.eventually("it is known again", func() bool { return len(unseenIn(t, s, "u", "a", "b")) == 0 })
		f.must(f.seen(s, other, "b"))
		if got := unseenIn(t, s, other, "a", "b"); len(got) > 0 {
			t.Errorf("service %d: %q", i, got)
		}
	}
	f.verify()
}

// TestReportsAfterFailover: a report that comes before a fail-over is noticed is written to a record that lacks those
// which the fail-over has lost. They are applied all the same.
func TestReportsAfterFailover(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	f.must(f.seen(f.two[0], "u", "a"))
	f.do("DEL", "test:{u}:")
	f.must(f.seen(f.two[0], "u", "b"))
	for _, s := range f.two {
		s.fleet.failedOver()
	}
	f.eventually("both are known", func() bool { return len(unseenIn(t, f.two[0], "u", "a", "b")) == 0 })
	f.verify()
}

// TestEvictionIsSaid: a metric says that the Redis may drop histories.
func TestEvictionIsSaid(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	evicts := func() float64 { return metric(t, f.two[0], "jianguo_exposure_store_evicts") }
	if got := evicts(); got != 0 {
		t.Errorf("by default: %v", got)
	}
	f.do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	f.eventually("the metric is 1", func() bool { return evicts() == 1 })
}

// TestReadyWhilePartitionsMove: the service that remains is ready all the time, and is not before all users have an
// owner for the first time.
func TestReadyWhilePartitionsMove(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	s := f.two[0]
	if n := new(redis.Owners).Unowned(); n != redis.Partitions {
		t.Errorf("before the first look %d partitions have no owner", n)
	}
	f.eventually("both own their share", func() bool {
		return s.fleet.Owners.Owned.Load() == redis.Partitions/2 && s.Trouble() == nil
	})
	f.two[1].Close()
	f.eventually("one owns all", func() bool {
		f.must(s.Trouble())
		return s.fleet.Owners.Owned.Load() == redis.Partitions
	})
}

// TestLogLostItsEnd: when a bus was restored from an older backup, sequences are given again. A report that has one is
// not answered before it counts, and once another owner has begun, it is.
func TestLogLostItsEnd(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	f.must(f.seen(f.two[0], "u", "a"))
	p := redis.PartitionOf("u")
	part, acks := fmt.Sprint("test:part:", p), f.two[0].fleet.Acks
	f.do("HSET", part, "applied", "0000000000ffffff")
	f.must(acks.Tell(p))
	f.eventually("the service knows", func() bool { return acks.Seq(p) == 0xffffff })
	if err := f.seen(f.two[0], "u", "b"); !errors.Is(err, ErrGone) {
		t.Errorf("a report with a sequence of before: %v", err)
	}
	f.do("HSET", part, "epoch", "000000000000ffff", "applied", "0000000000000001")
	f.eventually("reports count again", func() bool { return f.seen(f.two[0], "u", "c") == nil })
	if got := unseenIn(t, f.two[1], "u", "a", "b", "c"); len(got) > 0 {
		t.Errorf("answered, and shown again: %v", got)
	}

	for _, s := range f.two {
		f.must(s.Close())
	}
	kv, err := redis.Bucket(t.Context(), f.js, "", 1)
	f.must(err)
	_, err = kv.PutString(t.Context(), fmt.Sprint("part.", p), "a service that does not apply anything")
	f.must(err)
	f.open(0)
	f.do("HSET", part, "applied", "0000000000ffffff")
	f.must(f.two[0].Close())
	f.open(0)
	if err := f.seen(f.two[0], "u", "d"); !errors.Is(err, ErrGone) {
		t.Errorf("a report with a sequence of before, after a start: %v", err)
	}
}

// TestLateRead: a state that was read before an event, and arrives after the filter that follows has found the newer
// one in memory, does not take its place.
func TestLateRead(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	s, addr := f.two[0], state.Address{User: "u"}
	read := func() (*state.State, string) {
		t.Helper()
		rec, err := s.fleet.Redis.Get(t.Context(), addr)
		f.must(err)
		st, err := rec.State(addr)
		f.must(err)
		return st, rec.Stored
	}
	f.must(f.seen(s, "u", "a"))
	c, e, _ := s.entry("", "u")
	defer c.release(e, true)
	first, second := e.tickets.Add(1), e.tickets.Add(1)
	old, before := read() // by the second
	f.must(f.seen(s, "u", "b"))
	st, after := read() // by the first, which was slower
	e.keep(st, after, first)
	ticket := e.tickets.Add(1)
	done, _, err := s.fleet.refresh(t.Context(), e, ticket, func() (string, error) {
		v, err := s.fleet.Redis.Ask(t.Context(), addr)()
		e.keep(old, before, second) // now it arrives
		return v, err
	}, func() bool { return false })
	if err != nil || done || e.version != after || e.ticket != ticket {
		t.Errorf("%t, %v: the state is that of %s, want %s", done, err, e.version, after)
	}
	if e.keep(old, before, second); e.version != after {
		t.Error("it arrives later, and counts")
	}
}

// TestQuestionsWithoutRedis: what cannot be answered because the Redis is away is to be asked again. Once that is known,
// filters are answered without it and without a line of the log for each.
func TestQuestionsWithoutRedis(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	f.must(f.two[0].Close())
	var log lines
	f.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	f.open(0)
	c := f.two[0].fleet.Redis.Client
	_ = c.Do(t.Context(), c.B().Arbitrary("SHUTDOWN", "NOSAVE").Build()).Error() // there is no answer
	_, query := f.two[0].Query(t.Context(), "u", "", []string{"a"})
	_, explain := f.two[0].Explain(t.Context(), "u", "a", "")
	if !errors.Is(query, ErrAway) || !errors.Is(explain, ErrAway) {
		t.Errorf("%v; %v", query, explain)
	}
	f.eventually("it is known", func() bool { return f.two[0].Trouble() != nil })
	log.without(t, "filter")
	if r, err := f.two[0].Filter(t.Context(), Request{User: "u", Items: []string{"a"}}); err != nil || r.Degraded == "" {
		t.Errorf("%+v, %v", r, err)
	}
	log.without(t, "filter")
}

// TestFleetClockJumps: a service that starts while its clock is six days ahead knows what users have seen.
func TestFleetClockJumps(t *testing.T) {
	t.Parallel()
	f := startFleet(t, Config{})
	begun := time.Now()
	for _, ahead := range []time.Duration{0, 6 * 24 * time.Hour} {
		f.must(f.two[0].Close())
		source := func() (time.Time, time.Duration) { return time.Now().Add(ahead), time.Since(begun) }
		f.cfg.Clock, f.cfg.Steady = nil, clock.NewSteady(source, quiet)
		f.open(0)
		f.must(f.seen(f.two[0], "u", fmt.Sprint("before ", ahead)))
	}
	if got := unseenIn(t, f.two[0], "u", "before 0s", "new"); !slices.Equal(got, []string{"new"}) {
		t.Errorf("got %q", got)
	}
}
