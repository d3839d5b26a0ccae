package bus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/testbed"
)

// createdAlready is for Embedded.Create where the stream exists.
func createdAlready() error { return nil }

// Before its gate is open a stream takes nothing, and a gate does not open before a
// stream whose files it does not know.
func TestGateNotOpen(t *testing.T) {
	for name, c := range map[string]jetstream.StreamConfig{
		"memory":      {Storage: jetstream.MemoryStorage},
		"compressed":  {Compression: jetstream.S2Compression},
		"in the file": {},
		"no file":     {},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGated(t, &c, Config{Dir: t.TempDir(), Gates: []GatedStream{{Name: "S", Subjects: []string{"s.a", "s.b.*"}}}})
			for _, subject := range []string{"s.a", "s.b.c"} {
				if ack, err := g.js.Publish(t.Context(), subject, nil, jetstream.WithRetryAttempts(0)); !errors.Is(err, jetstream.ErrNoStreamResponse) {
					t.Errorf("%s without a gate: %+v %v", subject, ack, err)
				}
			}
			if name == "no file" {
				testbed.OK(t, os.RemoveAll(filepath.Join(g.bus.streamDir("S"), "msgs")))
			}
			err := g.bus.Create(t.Context(), "S", createdAlready)
			if (err == nil) != (name == "in the file") {
				t.Errorf("the gate: %v", err)
			}
		})
	}
}

// What is removed up to where the bus says takes files away and changes none, and
// removes nothing else; what a consumer was given is synced in whatever file it is.
func TestPurgeable(t *testing.T) {
	t.Parallel()
	g := newGated(t, t.TempDir(), jetstream.StreamConfig{MaxBytes: 24 << 20}, nil)
	stream, err := g.js.Stream(t.Context(), "S")
	testbed.OK(t, err)
	msgs := filepath.Join(g.bus.streamDir("S"), "msgs")
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
		testbed.OK(t, stream.Purge(t.Context(), jetstream.WithPurgeSequence(before)))
		for name, now := range blockFiles(t, msgs) {
			if then := files[name]; !os.SameFile(now, then) || now.Size() != then.Size() {
				t.Fatalf("%s was rewritten", name)
			}
			delete(files, name)
		}
		removed += len(files)
		if first, err := stream.Info(t.Context()); err != nil || first.State.FirstSeq != before && before > 1 {
			t.Fatalf("it begins at %d, not %d: %v", first.State.FirstSeq, before, err)
		}
		if _, err := g.bus.Synced(t.Context(), "S", ack.Sequence); err != nil {
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
	testbed.OK(t, err)
	files := map[string]os.FileInfo{}
	for _, name := range names {
		if files[name], err = os.Stat(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Synced always ends: after a purge of everything, with a stream that was created again,
// and with a consumer that received messages without acknowledgement.
func TestSyncedAgain(t *testing.T) {
	g := newGated(t, t.TempDir(), jetstream.StreamConfig{}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	synced := func(seq uint64) {
		t.Helper()
		if upTo, err := g.bus.Synced(ctx, "S", seq); err != nil || upTo < seq {
			t.Fatal(upTo, err)
		}
	}
	publish := func() uint64 {
		t.Helper()
		ack, err := g.js.Publish(ctx, "s.a", []byte("x"))
		testbed.OK(t, err)
		return ack.Sequence
	}
	for range 3 {
		synced(publish())
		stream, err := g.js.Stream(ctx, "S")
		if err == nil {
			err = stream.Purge(ctx)
		}
		testbed.OK(t, err)
		synced(publish() + 5)
	}
	c := jetstream.StreamConfig{Name: "S", Subjects: []string{"s.a", "s.b.*"}}
	testbed.OK(t, g.js.DeleteStream(ctx, "S"))
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
	if _, err := g.bus.Synced(late, "S", 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("after the publisher gave up: %v", err)
	}
}
