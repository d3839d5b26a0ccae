package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/index"
)

// The catalogue does not say that an item is applied before the stream has it for
// good, though it may have judged it: a sync takes until the catalogue waits for it.
func TestAppliedAfterSynced(t *testing.T) {
	var waits sync.Once
	waiting, held := make(chan struct{}), make(chan struct{}, 1)
	held <- struct{}{}
	var applied atomic.Bool
	fail := func(point string) error {
		switch point {
		case "waiting":
			waits.Do(func() { close(waiting) })
		case "sync":
			select {
			case <-held: // the first
			default:
				return nil
			}
			select {
			case <-waiting:
			case <-time.After(30 * time.Second):
				t.Error("nobody waits for the sync")
			}
			if applied.Load() {
				t.Error("an item was applied that was not synced")
			}
		}
		return nil
	}
	r := startOn(t, BusConfig{Dir: t.TempDir(), Fail: fail, Gates: GatedStreams()}, func(_ *Config, ic *index.Config) {
		ic.Fail = func(point string) error {
			if point == "batch" { // the commit is next
				applied.Store(true)
				waits.Do(func() { close(waiting) })
			}
			return nil
		}
	})
	for i := range 5 {
		r.submit(SubjectPublish, Item{ID: fmt.Sprint("i", i), Body: "水库今晨开闸泄洪，下游的村民已经转移。"})
	}
	if len(held) > 0 || !applied.Load() {
		t.Error("nothing was tried")
	}
	r.verify()
}

// Where a sync fails nothing is acknowledged any more, and nothing applied; the next
// start writes the files anew and goes on.
func TestSyncFails(t *testing.T) {
	dir := t.TempDir()
	var broken atomic.Bool
	fail := func(point string) error {
		if point == "sync" && broken.Load() {
			return errors.New("input/output error")
		}
		return nil
	}
	r := startOn(t, BusConfig{Dir: dir, Fail: fail, Gates: GatedStreams()}, nil)
	r.submit(SubjectPublish, Item{ID: "before", Body: "水库今晨开闸泄洪，下游的村民已经转移。"})
	broken.Store(true)
	for _, subject := range []string{SubjectPublish, SubjectPublish, SubjectWithdraw} {
		_, err := r.js.Publish(t.Context(), subject, []byte(`{"id":"meanwhile","body":"地铁新线今天开始试运行。"}`))
		var api *jetstream.APIError
		if !errors.As(err, &api) || api.ErrorCode != 10023 || api.Code != 503 || !strings.Contains(api.Description, "could not be synced") {
			t.Fatalf("published to a stream that cannot be synced: %v", err)
		}
		broken.Store(false) // that it works again is not to be believed
	}
	for deadline := time.Now().Add(30 * time.Second); r.service.Ready() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the service is ready")
		}
	}
	if _, err := r.index.Item(t.Context(), "meanwhile"); !errors.Is(err, index.ErrNotFound) {
		t.Errorf("an item that is not durable: %v", err)
	}
	r.close()
	block := filepath.Join(dir, "bus", "jetstream", "$G", "streams", StreamItems, "msgs", "1.blk")
	before, err := os.Stat(block)
	if err != nil {
		t.Fatal(err)
	}
	r = startOn(t, BusConfig{Dir: dir, Gates: GatedStreams()}, nil)
	after, err := os.Stat(block)
	if err != nil || os.SameFile(before, after) {
		t.Errorf("the file that could not be synced is still there: %v", err)
	}
	r.submit(SubjectPublish, Item{ID: "after", Body: "法院今天作出判决，公司须赔偿。"})
	if _, err := r.index.Item(t.Context(), "before"); err != nil {
		t.Error(err)
	}
	r.verify()
	r.close()
	if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(block)), "unsynced")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is to be written anew again: %v", err)
	}
}

// Before its gate is open a stream takes nothing, and a gate does not open before a
// stream whose files it does not know.
func TestGateNotOpen(t *testing.T) {
	for name, c := range map[string]jetstream.StreamConfig{
		"memory":      {Storage: jetstream.MemoryStorage},
		"compressed":  {Compression: jetstream.S2Compression},
		"in the file": {},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGated(t, &c, BusConfig{Dir: t.TempDir(), Gates: []GatedStream{{Name: "S", Subjects: []string{"s.a", "s.b.*"}}}})
			for _, subject := range []string{"s.a", "s.b.c"} {
				if ack, err := g.js.Publish(t.Context(), subject, nil, jetstream.WithRetryAttempts(0)); !errors.Is(err, jetstream.ErrNoStreamResponse) {
					t.Errorf("%s without a gate: %+v %v", subject, ack, err)
				}
			}
			err := g.bus.Gate(t.Context(), "S")
			if (err == nil) != (name == "in the file") {
				t.Errorf("the gate: %v", err)
			}
			if err := g.bus.Gate(t.Context(), "T"); err == nil {
				t.Error("a gate before a stream that has none")
			}
			if err := os.RemoveAll(filepath.Join(g.bus.gates.dir, "S", "msgs")); err != nil {
				t.Fatal(err)
			}
			if err := g.bus.Gate(t.Context(), "S"); err == nil {
				t.Error("a gate before a stream without files")
			}
		})
	}
}

// What is removed up to where the bus says takes files away and changes none, and
// removes nothing else; what a consumer was given is synced in whatever file it is.
func TestPurgeable(t *testing.T) {
	g := newGated(t, t.TempDir(), jetstream.StreamConfig{MaxBytes: 24 << 20}, nil)
	stream, err := g.js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	msgs := filepath.Join(g.bus.gates.dir, "S", "msgs")
	removed := 0
	for i := range 600 {
		ack, err := g.js.Publish(t.Context(), "s.a", make([]byte, 100_000))
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if i%17 != 16 {
			continue
		}
		applied := ack.Sequence - uint64(i%5)
		before := g.bus.Purgeable("S", applied+1)
		if before == 0 || before > applied+1 || applied-before > 100 {
			t.Fatalf("of %d messages those before %d", applied, before)
		}
		files := blockFiles(t, msgs)
		if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(before)); err != nil {
			t.Fatal(err)
		}
		for name, now := range blockFiles(t, msgs) {
			if then := files[name]; !os.SameFile(now, then) || now.Size() != then.Size() {
				t.Fatalf("%s was written anew", name)
			}
			delete(files, name)
		}
		removed += len(files)
		if first, err := stream.Info(t.Context()); err != nil || first.State.FirstSeq != before && before > 1 {
			t.Fatalf("it begins at %d, not %d: %v", first.State.FirstSeq, before, err)
		}
		if err := g.bus.Synced(t.Context(), "S", ack.Sequence); err != nil {
			t.Fatal(err)
		}
	}
	if removed < 10 {
		t.Errorf("%d files were removed", removed)
	}
}

func blockFiles(t *testing.T, dir string) map[string]os.FileInfo {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]os.FileInfo{}
	for _, name := range names {
		if files[name], err = os.Stat(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// A purge of everything, a stream made anew, a consumer that was given what has no
// acknowledgement: whatever has been written, Synced comes to an end.
func TestSyncedAnew(t *testing.T) {
	g := newGated(t, t.TempDir(), jetstream.StreamConfig{}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	synced := func(seq uint64) {
		t.Helper()
		if err := g.bus.Synced(ctx, "S", seq); err != nil {
			t.Fatal(err)
		}
	}
	publish := func() uint64 {
		t.Helper()
		ack, err := g.js.Publish(ctx, "s.a", []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		return ack.Sequence
	}
	for range 3 {
		synced(publish())
		stream, err := g.js.Stream(ctx, "S")
		if err == nil {
			err = stream.Purge(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		synced(publish() + 5)
	}
	c := jetstream.StreamConfig{Name: "S", Subjects: []string{"s.a", "s.b.*"}}
	if err := g.js.DeleteStream(ctx, "S"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.js.CreateStream(ctx, c); err != nil {
		t.Fatal(err)
	}
	if seq := publish(); seq != 1 {
		t.Fatalf("a new stream begins at %d", seq)
	}
	synced(1)
	synced(2)
	late, stop := context.WithCancel(ctx)
	stop()
	if err := g.bus.Synced(late, "S", 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up: %v", err)
	}
}
