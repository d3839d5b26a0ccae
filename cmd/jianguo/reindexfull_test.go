//go:build linux && !race

package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jianguo/index"
	"jianguo/internal/testbed"
)

// TestReindexDiskFull: a reindex that fills the disk changes nothing, and continues when there is space again.
func TestReindexDiskFull(t *testing.T) {
	t.Parallel()
	withOwnMounts(t, func(t *testing.T) {
		disk := smallDisk(t)
		a := &archive{t: t, binary: plainBinary(t), dir: filepath.Join(disk, "data")}
		a.bulletins(600)
		before := a.history()
		a.flags = wordsFile(t)
		release := fill(t, disk, 96<<10)
		fails(t, a.binary, "disk is full", a.args("reindex", "--data", a.dir)...)
		release()
		a.verify()
		if diff := cmp.Diff(before, a.history()); diff != "" {
			t.Fatalf("history (-before +after):\n%s", diff)
		}
		if out := a.run("reindex"); !strings.Contains(out, "from now on") {
			t.Errorf("with room: %s", out)
		}
		if diff := cmp.Diff(before, a.history()); diff != "" {
			t.Errorf("history (-before +after):\n%s", diff)
		}
		a.verify()
	})
}

// TestReindexSample: a catalogue that was reindexed to another recipe judges new articles
// as a catalogue that this recipe made. Verdicts and decisions of the past are not
// changed, and every decision can be undone.
func TestReindexSample(t *testing.T) {
	t.Parallel()
	binary := plainBinary(t)
	sample := filepath.Join("..", "..", "data", "sample", "corpus.jsonl")
	a, fresh := newArchive(t, binary), newArchive(t, binary)
	a.run("ingest", "--create", sample)
	fresh.flags = wordsFile(t)
	fresh.run("ingest", "--create", sample)
	seg := fresh.segmenter()
	x, other := a.open(a.segmenter()), fresh.open(seg)
	numbers := decide(t, x)
	if diff := cmp.Diff(numbers, decide(t, other)); diff != "" {
		t.Fatal("the other recipe judges the sample differently, choose other words:", diff)
	}
	testbed.OK(t, errors.Join(x.Close(), other.Close()))
	before := a.history()
	a.flags = fresh.flags
	t.Log(a.run("reindex"))
	if diff := cmp.Diff(before, a.history()); diff != "" {
		t.Fatalf("history (-before +after):\n%s", diff)
	}
	a.verify()
	x, other = a.open(seg), fresh.open(seg)
	measured := sameVerdicts(t, x, other, seg, sample)
	for i := len(numbers) - 1; i >= 0; i-- {
		if _, err := x.EditNow(context.Background(), &index.Edit{Decision: &index.DecisionRequest{Kind: index.Undo, Undo: numbers[i], By: "李四"}}); err != nil {
			t.Errorf("undo of decision %d: %v", numbers[i], err)
		}
	}
	testbed.OK(t, errors.Join(x.Close(), other.Close()))
	a.verify()
	if measured < 30 {
		t.Errorf("%d copies were found by their fingerprints", measured)
	}
}

// TestKillReindex kills reindexes with SIGKILL at random moments, back and forth between
// two recipes. After each kill the directory is whole and its history unchanged. In the
// end it equals a directory that was reindexed once without a kill.
func TestKillReindex(t *testing.T) {
	t.Parallel()
	_, r := newKilled(t)
	a, whole := newArchive(t, plainBinary(t)), newArchive(t, plainBinary(t))
	articles := testbed.Count(100, 300, 600)
	a.bulletins(articles)
	whole.bulletins(articles)
	before := a.history()
	with := wordsFile(t)
	a.flags, whole.flags = with, with
	start := time.Now()
	whole.run("reindex")
	alone := time.Since(start)
	killed, finished := 0, 0
	for rounds := testbed.CountOr("JIANGUO_KILLS", 2, 6, 300); killed < rounds; {
		if killed+finished > 20*rounds {
			t.Fatalf("%d killed, %d finished before they could be", killed, finished)
		}
		cmd := exec.Command(a.binary, a.args("reindex", "--data", a.dir)...)
		var said lockedBuffer
		cmd.Stderr = &said
		testbed.OK(t, cmd.Start())
		killer := time.AfterFunc(time.Duration(r.Int64N(int64(alone))), func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		killer.Stop()
		switch {
		case err == nil:
			finished++
			if a.flags == with {
				a.flags = segmentFlags{}
			} else {
				a.flags = with
			}
		case strings.Contains(err.Error(), "killed"):
			killed++
		default:
			t.Fatalf("reindex: %v\n%s", err, said.String())
		}
		a.verify()
		if diff := cmp.Diff(before, a.history()); diff != "" {
			t.Fatalf("history (-before +after):\n%s", diff)
		}
	}
	t.Logf("%d killed, %d finished", killed, finished)
	a.flags = with
	a.run("reindex")
	a.verify()
	if got, want := a.sum(overlayRows), whole.sum(overlayRows); got != want || strings.HasPrefix(want, "0 rows") {
		t.Errorf("forms: %s, and by one reindex %s", got, want)
	}
}
