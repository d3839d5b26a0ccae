package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/powercut"
	"jianguo/internal/tier"
)

// kills returns how often a test kills the process. JIANGUO_KILLS overrides it.
func kills(short, normal int) int {
	return tier.CountOr("JIANGUO_KILLS", short, normal, 25*normal)
}

// TestKill kills the real binary with SIGKILL at random moments of an ingest that
// writes one snapshot after the other. After each kill the directory is whole. In the
// end every acknowledged item has its verdict, and every event that a client saw is
// there unchanged.
func TestKill(t *testing.T) {
	t.Parallel()
	k, r := newKilled(t)
	for round := range kills(4, 12) {
		k.round(round, time.Duration(r.IntN(400))*time.Millisecond)
		k.whole(round)
	}
	k.end()
}

// killed is a service that is killed again and again while clients publish.
type killed struct {
	*process
	failing atomic.Bool                                // the disk may fail; false during a start
	fail    func(path string) powercut.Fault           // the fault of a sync; nil: none
	failIO  func(path string, write bool) (fails bool) // whether a read or a write fails; nil: none
	failed  func() int                                 // faults of the kind of this round; nil: not counted

	mu     sync.Mutex
	acked  map[string]bool   // under mu; ids of acknowledged items
	events map[uint64]string // under mu; events that clients saw

	snapshots map[string]int // what a start after a kill did with the snapshot
}

func newKilled(t *testing.T, args ...string) (*killed, *rand.Rand) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	args = append([]string{"--snapshot-every", "30", "--nats-listen", "127.0.0.1:0"}, args...)
	return &killed{process: newProcess(t, binary(t), filepath.Join(t.TempDir(), "data"), args...),
		acked: map[string]bool{}, events: map[uint64]string{}, snapshots: map[string]int{}}, rand.New(rand.NewPCG(seed, 1))
}

// round starts the service, lets clients publish and kills it.
func (k *killed) round(n int, life time.Duration) {
	k.t.Helper()
	k.start()
	if k.fail != nil || k.failIO != nil {
		k.ready()
		k.failing.Store(true)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	for publisher := range 3 {
		clients.Go(func() {
			k.connected(ctx, func(conn *nats.Conn) { k.publish(ctx, conn, fmt.Sprintf("%d-%d", n, publisher)) })
		})
	}
	clients.Go(func() { k.connected(ctx, func(conn *nats.Conn) { k.watch(ctx, conn) }) })
	if k.failIO != nil {
		clients.Go(func() { k.read(ctx) })
	}
	k.live(life, n, func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.acked) > 0
	})
	if k.failIO != nil {
		k.recovers()
	}
	k.kill()
	cancel()
	clients.Wait()
}

// live waits for the given time. It waits longer where a slow machine has not tried
// enough by then: in the first round until tried holds, and in rounds with faults until
// one of the kind of the round has happened.
func (k *killed) live(life time.Duration, round int, tried func() bool) {
	k.t.Helper()
	time.Sleep(life)
	if round == 0 {
		k.eventually("the clients do their work", tried)
	} else if k.failed != nil {
		k.eventually("a fault of this round", func() bool { return k.failed() > 0 })
	}
}

// recovers waits until the service takes items and judges them, on a disk that no
// longer fails.
func (k *killed) recovers() {
	k.t.Helper()
	k.failing.Store(false)
	count := func() (acked, events int) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.acked), len(k.events)
	}
	acked, events := count()
	k.eventually("items and events after the faults", func() bool {
		a, e := count()
		return a > acked && e > events
	})
}

// connected runs a client with a connection to the service, again and again until the
// context ends: on a slow machine an attempt to connect may fail.
func (k *killed) connected(ctx context.Context, client func(*nats.Conn)) {
	url := k.address.NATS
	for ; ctx.Err() == nil; sleep(ctx, 10*time.Millisecond) {
		conn, err := bus.Connect(url)
		if err != nil {
			continue
		}
		client(conn)
		conn.Close()
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// publish sends items as long as the connection stands, and records those that were
// acknowledged.
func (k *killed) publish(ctx context.Context, conn *nats.Conn, prefix string) {
	js, err := jetstream.New(conn)
	if err != nil {
		k.t.Error(err)
		return
	}
	for i := 0; ctx.Err() == nil; i++ {
		id := fmt.Sprintf("%s-%d", prefix, i)
		body := fmt.Sprintf("第%d号抢险队今晨在%s号堤坝巡查，村民已经转移到中学，编号%s。", i%7, prefix, id)
		if i%5 == 4 {
			body = "地铁新线今天开始试运行，换乘车站的客流平稳，志愿者在站台上引导乘客。"
		}
		b, err := json.Marshal(ingest.Item{ID: id, Body: body})
		if err != nil {
			k.t.Error(err)
			return
		}
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		_, err = js.Publish(attempt, bus.SubjectPublish, b)
		cancel()
		if err == nil {
			k.mu.Lock()
			k.acked[id] = true
			k.mu.Unlock()
		} else if !conn.IsConnected() {
			return
		}
	}
}

// read asks for items over HTTP, so that the service reads its files.
func (k *killed) read(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		k.mu.Lock()
		var ids []string
		for id := range k.acked { // in random order
			if ids = append(ids, id); len(ids) == 10 {
				break
			}
		}
		k.mu.Unlock()
		for _, id := range ids {
			k.status("/items/" + id)
		}
		sleep(ctx, 5*time.Millisecond)
	}
}

// watch reads every event from the first on, as long as the connection stands.
func (k *killed) watch(ctx context.Context, conn *nats.Conn) {
	js, err := jetstream.New(conn)
	if err != nil {
		k.t.Error(err)
		return
	}
	for ; ctx.Err() == nil && conn.IsConnected(); sleep(ctx, 20*time.Millisecond) {
		consumer, err := js.OrderedConsumer(ctx, bus.StreamVerdicts, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
		if err != nil {
			continue // the bus has no stream yet, or the stream is being opened again
		}
		consuming, err := consumer.Consume(func(m jetstream.Msg) {
			var e index.Event
			if err := json.Unmarshal(m.Data(), &e); err != nil {
				k.t.Error(err)
				return
			}
			k.saw(e.Number, string(m.Data()))
		}, jetstream.PullHeartbeat(time.Second))
		if err != nil {
			continue
		}
		select {
		case <-ctx.Done():
			consuming.Stop()
			<-consuming.Closed()
		case <-consuming.Closed():
		}
	}
}

// saw records an event, which must be the same each time it is seen.
func (k *killed) saw(number uint64, data string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if before, ok := k.events[number]; ok && before != data {
		k.t.Errorf("event %d was\n%s\nand then\n%s", number, before, data)
	}
	k.events[number] = data
}

// remove removes a directory that is not needed any more.
func (k *killed) remove(dir string) {
	k.t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		k.t.Fatal(err)
	}
}

// whole verifies a copy of the files that a kill left. The next start still finds the
// originals as they were.
func (k *killed) whole(round int) {
	k.t.Helper()
	dir := filepath.Join(k.t.TempDir(), "copy")
	if err := os.Mkdir(dir, 0o700); err != nil {
		k.t.Fatal(err)
	}
	defer k.remove(dir)
	files, err := filepath.Glob(filepath.Join(k.data, "*.db*"))
	if err != nil {
		k.t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o600)
		}
		if err != nil {
			k.t.Fatal(err)
		}
	}
	var log strings.Builder
	ctx := context.Background()
	x, err := index.Open(ctx, index.Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		k.t.Fatalf("round %d: %v", round, err)
	}
	r, err := x.Verify(ctx)
	if err := errors.Join(err, x.Close()); err != nil {
		k.t.Fatal(err)
	}
	if len(r.Problems) > 0 {
		k.t.Fatalf("round %d: %s\n%s", round, strings.Join(r.Problems, "\n"), log.String())
	}
	switch {
	case strings.Contains(log.String(), "snapshot loaded"):
		k.snapshots["loaded"]++
	case strings.Contains(log.String(), "building the resident index"):
		k.snapshots["rebuilt"]++
	default:
		k.snapshots["none"]++
	}
}

// end starts the service once more, lets it give every message its verdict, and checks
// everything that was acknowledged to clients.
func (k *killed) end() {
	k.t.Helper()
	k.start()
	conn, err := bus.Connect(k.address.NATS)
	if err != nil {
		k.t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		k.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b, err := json.Marshal(ingest.Item{ID: "last", Body: "青铜器展览今天在博物馆开幕。"})
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := ingest.Submit(ctx, js, bus.SubjectPublish, b); err != nil {
		k.hang("the last item: %v", err)
	}
	conn.Close()
	k.signal(os.Interrupt)
	k.stopped()
	x, err := index.Open(ctx, index.Config{Dir: k.data})
	if err != nil {
		k.t.Fatal(err)
	}
	defer x.Close()
	for id := range k.acked {
		if _, err := x.Item(ctx, id); err != nil {
			k.t.Errorf("acknowledged and lost: %v", err)
		}
	}
	events, err := x.Events(ctx, 0, 1<<30)
	if err != nil {
		k.t.Fatal(err)
	}
	for i, e := range events {
		if e.Number != uint64(i+1) {
			k.t.Fatalf("event %d is number %d", e.Number, i+1)
		}
		data, err := json.Marshal(e)
		if err != nil {
			k.t.Fatal(err)
		}
		k.saw(e.Number, string(data))
	}
	k.t.Logf("%d items acknowledged, %d events; snapshots after the kills: %v", len(k.acked), len(events), k.snapshots)
	if len(k.acked) == 0 || len(k.events) > len(events) {
		k.t.Errorf("%d items acknowledged, %d events seen, %d in the catalogue", len(k.acked), len(k.events), len(events))
	}
}
