package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/internal/powercut"
	"jianguo/internal/tier"
)

// kills is how often a test kills the process. JIANGUO_KILLS overrides it.
func kills(normal int) int {
	return tier.CountOr("JIANGUO_KILLS", (normal+1)/2, normal, 25*normal)
}

func newKilled(t *testing.T) (*killed, *rand.Rand) {
	t.Helper()
	dir := t.TempDir()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	k := &killed{t: t, data: filepath.Join(dir, "data"), start: startChild, acked: map[string]bool{}, events: map[uint64]string{}, snapshots: map[string]int{}}
	k.binary = filepath.Join(dir, "jianguo")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, k.binary); err != nil {
		t.Fatal(err)
	}
	return k, rand.New(rand.NewPCG(seed, 1))
}

// startChild starts a command that does not outlive the test, should that be ended.
func startChild(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Start()
}

// TestKill kills the real binary with SIGKILL at random moments of an ingest
// that writes one snapshot after the other, starts it again and goes on. Each
// time the directory is whole; in the end every item that was acknowledged has
// its verdict, and no event that anyone saw is missing or different.
func TestKill(t *testing.T) {
	k, r := newKilled(t)
	for round := range kills(12) {
		k.round(round, time.Duration(r.IntN(400))*time.Millisecond)
		k.whole(round)
	}
	k.end()
}

type killed struct {
	t            *testing.T
	binary, data string
	start        func(*exec.Cmd) error              // how the binary is started
	args         []string                           // and with what besides
	said         *lockedBuffer                      // its log
	at           datadir.Holder                     // where it was reached last
	failing      atomic.Bool                        // whether the disk may fail: not during a start
	fail         func(path string) powercut.Fault   // what becomes of a sync
	failIO       func(path string, write bool) bool // and of a read or a write

	mu     sync.Mutex
	acked  map[string]bool
	events map[uint64]string

	snapshots map[string]int // what a start after a kill made of the snapshot
}

// serve starts the binary and waits until its bus answers.
func (k *killed) serve() (*exec.Cmd, string) {
	k.t.Helper()
	cmd := exec.Command(k.binary, "serve", "--log-level", "info", "--data", k.data, "--snapshot-every", "30", "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0")
	cmd.Args = append(cmd.Args, k.args...)
	k.said = new(lockedBuffer)
	cmd.Stderr = k.said
	if err := k.start(cmd); err != nil {
		k.t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		raw, err := os.ReadFile(filepath.Join(k.data, datadir.LockName))
		var h datadir.Holder
		if err == nil && json.Unmarshal(raw, &h) == nil && h.PID == cmd.Process.Pid && h.NATS != "" {
			k.at = h
			return cmd, h.NATS
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	k.t.Fatalf("the service did not start: %s", k.said)
	return nil, ""
}

// ready waits until the service is.
func (k *killed) ready() {
	k.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		res, err := http.Get(k.at.HTTP + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			k.t.Fatalf("the service did not become ready: %s", k.said)
		}
	}
}

// round publishes until the process is killed.
func (k *killed) round(n int, life time.Duration) {
	k.t.Helper()
	cmd, url := k.serve()
	if k.fail != nil || k.failIO != nil {
		k.ready()
		k.failing.Store(true)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for publisher := range 3 {
		wg.Go(func() { k.publish(ctx, url, fmt.Sprintf("%d-%d", n, publisher)) })
	}
	wg.Go(func() { k.watch(ctx, url) })
	k.live(life, n, func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.acked) > 0
	})
	if k.failIO != nil {
		k.recovers()
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		k.t.Fatal(err)
	}
	_ = cmd.Wait()
	cancel()
	wg.Wait()
}

// live waits for so long, in the first round also until something has been tried:
// a slow machine may not come to it by then.
func (k *killed) live(life time.Duration, round int, tried func() bool) {
	time.Sleep(life)
	for deadline := time.Now().Add(patience); round == 0 && !tried() && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
}

// recovers waits until the service takes items and judges them, on a disk that does not
// fail any more.
func (k *killed) recovers() {
	k.t.Helper()
	k.failing.Store(false)
	count := func() (acked, events int) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.acked), len(k.events)
	}
	acked, events := count()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		a, e := count()
		switch {
		case a > acked && e > events:
			return
		case time.Now().After(deadline):
			k.t.Fatalf("the disk does not fail any more, and %d items were taken, %d events came: %s", a-acked, e-events, k.said)
		}
	}
}

// publish sends items until the bus is gone, and remembers those acknowledged.
func (k *killed) publish(ctx context.Context, url, prefix string) {
	conn, err := bus.Connect(url)
	if err != nil {
		return // killed before it answered
	}
	defer conn.Close()
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

// watch reads every event from the first on, and holds those that it has seen
// before against what they were.
func (k *killed) watch(ctx context.Context, url string) {
	conn, err := bus.Connect(url)
	if err != nil {
		return
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		k.t.Error(err)
		return
	}
	for ; ctx.Err() == nil && conn.IsConnected(); time.Sleep(20 * time.Millisecond) {
		consumer, err := js.OrderedConsumer(ctx, bus.StreamVerdicts, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
		if err != nil {
			continue // the bus has no stream yet, or is being opened anew
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

// forget removes a directory that is not needed any more.
func (k *killed) forget(dir string) {
	k.t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		k.t.Fatal(err)
	}
}

// whole verifies a copy of what a kill left, so that the next start still finds
// it as it was.
func (k *killed) whole(round int) {
	k.t.Helper()
	dir := filepath.Join(k.t.TempDir(), "copy")
	if err := os.Mkdir(dir, 0o700); err != nil {
		k.t.Fatal(err)
	}
	defer k.forget(dir)
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

func (k *killed) saw(number uint64, data string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if before, ok := k.events[number]; ok && before != data {
		k.t.Errorf("event %d was\n%s\nand then\n%s", number, before, data)
	}
	k.events[number] = data
}

// end starts the service once more, lets it finish, and checks everything.
func (k *killed) end() {
	k.t.Helper()
	cmd, url := k.serve()
	conn, err := bus.Connect(url)
	if err != nil {
		k.t.Fatal(err)
	}
	publisher, err := bus.NewPublisher(conn)
	if err != nil {
		k.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b, err := json.Marshal(ingest.Item{ID: "last", Body: "青铜器展览今天在博物馆开幕。"})
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := ingest.Submit(ctx, publisher, bus.SubjectPublish, b); err != nil {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // where it hangs
		_ = cmd.Wait()
		k.t.Fatalf("%v\n%s", err, cmd.Stderr)
	}
	conn.Close()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		k.t.Fatalf("an orderly end: %v", err)
	}
	if out, err := exec.Command(k.binary, "verify", "--data", k.data).CombinedOutput(); err != nil {
		k.t.Fatalf("verify: %v\n%s", err, out)
	}
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
			k.t.Fatalf("event %d stands at %d", e.Number, i+1)
		}
		data, err := json.Marshal(e)
		if err != nil {
			k.t.Fatal(err)
		}
		k.saw(e.Number, string(data))
	}
	k.t.Logf("%d items acknowledged, %d events; snapshots after the ends: %v", len(k.acked), len(events), k.snapshots)
	if len(k.acked) == 0 || len(k.events) > len(events) {
		k.t.Errorf("%d items acknowledged, %d events seen, %d in the catalogue", len(k.acked), len(k.events), len(events))
	}
}
