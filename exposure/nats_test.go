package exposure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/internal/streams"
	"jianguo/internal/testbed"
)

// startNATS runs the server that the product embeds, with JetStream in a directory.
func startNATS(t testing.TB, dir string, synced bool) (*server.Server, jetstream.JetStream) {
	t.Helper()
	ns := runNATS(t, &server.Options{
		ServerName: "test", DontListen: true, JetStream: true, StoreDir: dir, SyncAlways: synced,
		NoSigs: true, NoLog: true, MaxPayload: 4 << 20,
	})
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	testbed.OK(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	testbed.OK(t, err)
	return ns, js
}

func runNATS(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	ns, err := server.NewServer(o)
	testbed.OK(t, err)
	ns.Start()
	if !ns.ReadyForConnections(patience) {
		t.Fatal("the NATS server did not start")
	}
	t.Cleanup(func() { stopNATS(ns) })
	return ns
}

func stopNATS(ns *server.Server) {
	ns.Shutdown()
	ns.WaitForShutdown()
}

func natsFixture(t testing.TB, stream eventlog.Config, cfg Config) (*fixture, jetstream.JetStream) {
	t.Helper()
	_, js := startNATS(t, t.TempDir(), false)
	log, err := eventlog.Open(context.Background(), js, stream, quiet)
	testbed.OK(t, err)
	cfg.Log = log
	f := newFixture(t, cfg)
	f.clock.unix.Store(time.Now().Unix() + 1) // the stream stamps by the real clock
	return f, js
}

func TestStream(t *testing.T) {
	f, js := natsFixture(t, eventlog.Config{}, Config{MaxUnflushed: 50})
	ctx := context.Background()
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprint("s", i))
		f.report(state.Seen, "u", want[i])
		if i%97 == 0 {
			f.crash()
		}
		if got := f.unseenOf("u", want...); len(got) > 0 {
			t.Fatalf("after %d reports: %v came back", i+1, got)
		}
	}
	// What others publish, with and without a partition, wrong or right.
	for _, m := range [][2]string{
		{"exposures.seen", `{"user":"v","items":["a", 7]}`},
		{"exposures.delivered.0", `{"user":"v","items":["b"],"at":"2001-01-01T00:00:00Z"}`},
		{"exposures.seen.0", `{"user":"v","items":"a"}`},
		{"exposures.seen.0", `{"user":"","items":["a"]}`},
		{"exposures.seen.0", `{`},
		{"exposures.seen.0", `{"user":"v","items":["c"],"at":"2999-01-01T00:00:00Z"}`},
	} {
		if _, err := js.Publish(ctx, m[0], []byte(m[1])); err != nil {
			t.Fatal(err)
		}
	}
	f.report(state.Seen, "v", "last")
	if got := f.unseenOf("v", "a", "7", "b", "c", "last", "new"); !slices.Equal(got, []string{"b", "new"}) {
		t.Fatalf("got %v", got)
	}
}

// TestStreamFull: a full stream refuses, by name, and takes reports again once the
// state file has caught up.
func TestStreamFull(t *testing.T) {
	f, _ := natsFixture(t, eventlog.Config{MaxBytes: 64 << 10}, Config{FlushAge: time.Hour})
	ctx := context.Background()
	long := strings.Repeat("x", 200)
	full := false
	for i := 0; i < 1000 && !full; i++ {
		err := f.Expose(ctx, Event{Kind: state.Seen, User: "u", Items: []string{fmt.Sprint(long, i)}})
		if full = errors.Is(err, ErrFull); err != nil && !full {
			t.Fatal(err)
		}
	}
	if !full {
		t.Fatal("the stream never filled")
	}
	f.must(f.Flush(ctx))
	f.report(state.Seen, "u", "after")
	if got := f.unseenOf("u", "after", long+"0", "new"); !slices.Equal(got, []string{"new"}) {
		t.Fatalf("got %v", got)
	}
	f.crash()
	if got := f.unseenOf("u", "after", long+"0", "new"); !slices.Equal(got, []string{"new"}) {
		t.Fatalf("after a crash: got %v", got)
	}
}

// TestNewLog: with another log, which may be empty, a state file keeps what it has and all of the new log is
// applied.
func TestNewLog(t *testing.T) {
	for _, empty := range []bool{false, true} {
		newLog(t, empty)
	}
}

func newLog(t *testing.T, empty bool) {
	f, _ := natsFixture(t, eventlog.Config{}, Config{})
	f.report(state.Seen, "u", "a", "b", "c")
	f.report(state.Seen, "u", "d")
	f.must(f.Close())
	_, js := startNATS(t, t.TempDir(), false)
	log, err := eventlog.Open(context.Background(), js, eventlog.Config{}, quiet)
	f.must(err)
	if f.cfg.Log = log; empty {
		f.open()
		f.must(f.Close())
	}
	if _, err := js.Publish(context.Background(), "exposures.seen.0", []byte(`{"user":"u","items":["e"]}`)); err != nil {
		t.Fatal(err)
	}
	f.open()
	if got := f.unseenOf("u", "a", "b", "c", "d", "e", "f"); !slices.Equal(got, []string{"f"}) {
		t.Fatalf("got %v", got)
	}
}

// TestBusRestored: a bus that was restored from an older backup gives sequences again, and those who publish there do not
// wait for the service to notice. What they published counts, whether it is less or more than what the bus has lost, and
// what was applied before stays.
func TestBusRestored(t *testing.T) {
	for name, c := range map[string]struct {
		published int
		stopped   bool // the service, meanwhile
	}{"fewer": {3, false}, "more": {9, false}, "fewer, stopped": {3, true}, "more, stopped": {9, true}} {
		t.Run(name, func(t *testing.T) { t.Parallel(); busRestored(t, c.published, c.stopped, "") })
		t.Run(name+", Redis", func(t *testing.T) { t.Parallel(); busRestored(t, c.published, c.stopped, startRedis(t)) })
	}
}

func busRestored(t *testing.T, published int, stopped bool, redisAt string) {
	ctx, now, backup := t.Context(), t.TempDir(), t.TempDir()
	o := server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: now, NoSigs: true, NoLog: true}
	ns := runNATS(t, &o)
	nc, err := nats.Connect(ns.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	testbed.OK(t, err)
	defer nc.Close()
	o.Port = ns.Addr().(*net.TCPAddr).Port
	js, _ := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Second))
	log, err := eventlog.Open(ctx, js, eventlog.Config{Kinds: []string{string(state.Linked), string(state.Unlinked)}}, quiet)
	testbed.OK(t, err)
	shared := func() *Shared { return nil }
	if redisAt != "" {
		shared = func() *Shared { return sharedIn(t, js, redisAt, "s") }
	}
	f := newFixture(t, Config{Log: log, Shared: shared(), HealAfter: time.Millisecond, FlushAge: time.Hour})
	defer f.Close()
	f.clock.unix.Store(time.Now().Unix() + 3600)
	again := func(dir string) {
		stopNATS(ns)
		o.StoreDir = dir
		ns = runNATS(t, &o)
		f.eventually(func() error { return nc.FlushTimeout(time.Second) })
	}
	for i := range 4 {
		f.report(state.Seen, "u", fmt.Sprint("old", i))
	}
	stopNATS(ns)
	f.must(os.CopyFS(backup, os.DirFS(now)))
	again(now)
	f.eventually(func() error { return f.Unsee(ctx, "u", "", []string{"old3"}) })
	for i := range 5 {
		f.report(state.Seen, "u", fmt.Sprint("lost", i))
	}
	if stopped {
		f.must(f.Close())
	}
	stopNATS(ns)
	restored, before := startNATS(t, backup, false)
	want := []string{"old0", "lost0", "lost4", "new"}
	for i := range published {
		want = append(want, fmt.Sprint("published", i))
		if _, err := before.Publish(ctx, fmt.Sprint("exposures.seen.", redis.PartitionOf("u")), fmt.Appendf(nil, `{"user":"u","items":["published%d"]}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	stopNATS(restored)
	if again(backup); stopped {
		f.cfg.Shared = shared()
		f.open()
	}
	report := func() error { return f.Expose(ctx, Event{Kind: state.Seen, User: "u", Items: []string{"new"}}) }
	if f.eventually(report); redisAt != "" {
		f.eventually(report) // an owner that was being applied has gone
	}
	if got := f.unseenOf("u", append(want, "old3")...); !slices.Equal(got, []string{"old3"}) {
		t.Errorf("shown again: %q", got)
	}
}

// eventually tries until there is no error.
func (f *fixture) eventually(do func() error) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if err := do(); err == nil {
			return
		} else if time.Now().After(deadline) {
			f.t.Fatal(err)
		}
	}
}

// TestFlushAfterSynced: the file does not record that events are applied before the log is
// synced, and not at all where that fails.
func TestFlushAfterSynced(t *testing.T) {
	var synced uint64 // sequence of the last call; in the flush
	lost := errors.New("input/output error")
	var fails bool
	f, _ := natsFixture(t, eventlog.Config{Synced: func(_ context.Context, seq uint64) error {
		if fails {
			return lost
		}
		synced = seq
		return nil
	}}, Config{FlushAge: time.Hour})
	ctx := context.Background()
	for i := range 3 {
		f.report(state.Seen, "u", fmt.Sprint("s", i))
		before := synced
		if err := f.Flush(ctx); err != nil || synced != before+1 || f.w.flushed.Load() != synced {
			t.Fatalf("flushed up to %d, synced up to %d: %v", f.w.flushed.Load(), synced, err)
		}
	}
	f.report(state.Seen, "u", "last")
	fails = true
	if err := f.Flush(ctx); !errors.Is(err, lost) || f.Ready() {
		t.Fatalf("a flush of what is not durable: %v", err)
	}
	fails = false
	f.crash()
	if err := f.Flush(ctx); err != nil || synced != 4 {
		t.Fatalf("synced up to %d: %v", synced, err)
	}
	if got := f.unseenOf("u", "s0", "s2", "last", "new"); !slices.Equal(got, []string{"new"}) {
		t.Fatalf("got %v", got)
	}
}

// TestFullPartition: a stream that is half full is rid of what is in a Redis, but not of the last minute, which has to be
// applied again when that fails over.
func TestFullPartition(t *testing.T) {
	_, js := startNATS(t, t.TempDir(), false)
	clk, ctx := newClock(), t.Context()
	clk.unix.Store(time.Now().Unix())
	log, err := eventlog.Open(ctx, js, eventlog.Config{MaxBytes: 64 << 10, Clock: clk.now}, quiet)
	testbed.OK(t, err)
	for range 50 {
		if _, err := log.Append(ctx, "exposures.seen.3", make([]byte, 1<<10)); err != nil {
			t.Fatal(err)
		}
	}
	for _, first := range []uint64{1, 51} {
		testbed.OK(t, log.ReleasePart(ctx, 3, 50))
		if st, err := log.State(ctx); err != nil || st.First != first {
			t.Errorf("the log begins at %d, want %d: %v", st.First, first, err)
		}
		clk.advance(eventlog.Replayed + time.Hour)
	}
}

// TestConsumersEnd: what has ended leaves no consumer on the bus, which bounds their number.
func TestConsumersEnd(t *testing.T) {
	_, js := startNATS(t, t.TempDir(), false)
	log, err := eventlog.Open(t.Context(), js, eventlog.Config{}, quiet)
	testbed.OK(t, err)
	if _, err := log.Append(t.Context(), "exposures.seen.0", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		if err := log.ConsumePart(ctx, 0, streams.Point{}, func(eventlog.Entry) error { cancel(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := js.Stream(t.Context(), eventlog.StreamName)
	testbed.OK(t, err)
	if n := stream.CachedInfo().State.Consumers; n > 0 {
		t.Errorf("%d consumers are left", n)
	}
}

// TestDroppedPartition: Own is called with an ended context for each partition that is dropped, also if the lease ends
// between two tries. Otherwise its last error would stand for ever.
func TestDroppedPartition(t *testing.T) {
	t.Parallel()
	_, js := startNATS(t, t.TempDir(), false)
	bucket := func(ctx context.Context) (jetstream.KeyValue, error) { return redis.Bucket(ctx, js, "", 1) }
	kv, err := bucket(t.Context())
	testbed.OK(t, err)
	var began, ended [redis.Partitions]atomic.Bool
	owners := &redis.Owners{KV: kv, Bucket: bucket, Name: "a", Logger: quiet, Own: func(ctx context.Context, p int) error {
		began[p].Store(true)
		ended[p].Store(ctx.Err() != nil)
		return errors.New("the bus is away")
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		owners.Run(ctx)
	}()
	for p := range began {
		for !began[p].Load() {
			time.Sleep(time.Millisecond)
		}
	}
	// A server that is restarted has lost the bucket, which is in memory: the leases go on in another one.
	testbed.OK(t, js.DeleteKeyValue(ctx, kv.Bucket()))
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if keys, err := kv.Keys(ctx); err == nil && len(keys) > redis.Partitions {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("leases: %v %v", keys, err)
		}
	}
	cancel()
	<-done
	for p := range ended {
		if !ended[p].Load() {
			t.Errorf("partition %d was dropped unnoticed", p)
		}
	}
}
