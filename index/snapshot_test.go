package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"jianguo/index/resident"
	"jianguo/internal/testbed"
)

// TestSnapshotOfAnotherHand: a file that was removed while the service ran is written again.
func TestSnapshotOfAnotherHand(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	x := openTest(t, dir, nil)
	add := func(n uint64) {
		t.Helper()
		put(t, x, Mutation{Seq: n, At: testStart, Article: article(fmt.Sprint(n), fmt.Sprint(n), n<<40|n)})
	}
	for n := range uint64(30) {
		add(n + 1)
	}
	testbed.OK(t, x.Snapshot(ctx))
	testbed.OK(t, os.Remove(filepath.Join(dir, SnapshotFileName)))
	add(31)
	testbed.OK(t, x.Snapshot(ctx))
	testbed.OK(t, x.Close())
	x = openTest(t, dir, nil)
	defer func() { _ = x.Close() }()
	if got := x.snapshotEvent.Load(); got != 31 {
		t.Errorf("the snapshot used ends at event %d, want 31", got)
	}
	mustVerify(t, x)
}

// TestStartCalledOff: who stops a start while the snapshot is read keeps it.
func TestStartCalledOff(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir, nil)
	for n := range uint64(30) {
		put(t, x, Mutation{Seq: n + 1, At: testStart, Article: article(fmt.Sprint(n), fmt.Sprint(n), n<<40|n)})
	}
	testbed.OK(t, errors.Join(x.Snapshot(t.Context()), x.Close()))
	path := filepath.Join(dir, SnapshotFileName)
	before, err := os.Stat(path)
	testbed.OK(t, err)
	ctx, stop := context.WithCancel(t.Context())
	_, err = Open(ctx, Config{Dir: dir, Progress: func(stage string, _, _ int64) {
		if stage == "snapshot" {
			stop()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("a start that is called off says %v", err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Fatalf("the snapshot was not kept: %v", err)
	}
}

// midway is a writers' lock that calls f when a snapshot lets writers go on for the first time.
type midway struct {
	sync.Locker
	f func()
}

func (m *midway) Unlock() {
	m.Locker.Unlock()
	if f := m.f; f != nil {
		m.f = nil
		f()
	}
}

// TestReleasedWhileSnapshotIsWritten: the pages of a snapshot hold the posting of a version that
// was released while they were written. The undo after it takes the posting back.
func TestReleasedWhileSnapshotIsWritten(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir, nil)
	decide, add := storyOf(t, x, "lead")
	var d *Decision
	writers := &midway{&x.writeMu, func() {
		if e := add("copy", 0xffff_0001); e.Verdict != Duplicate {
			t.Errorf("%+v", e)
		}
		d = decide(DecisionRequest{Kind: Release, Item: "copy"})
	}}
	from := resident.Source{Tables: x.tables, Catalogue: x.recipe.Load().overlay.SnapshotOf(x.identity), Writers: writers, Last: x.mark}
	m, _, err := x.snapshot.Write(t.Context(), from)
	if err != nil || m.Ordinal != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	decide(DecisionRequest{Kind: Undo, Undo: d.Number})
	testbed.OK(t, x.Close())
	x = openTest(t, dir, nil)
	defer func() { _ = x.Close() }()
	if got := x.snapshotEvent.Load(); got != 1 {
		t.Errorf("the snapshot used ends at event %d, want 1", got)
	}
	mustVerify(t, x)
}
