//go:build linux

package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jianguo/index"
)

// TestReindexDiskFull: a reindex refuses to start if the disk has too little space. One
// that fills the disk all the same continues when there is space again.
func TestReindexDiskFull(t *testing.T) {
	t.Parallel()
	withOwnMounts(t, func(t *testing.T) {
		disk := smallDisk(t)
		a := &archive{t: t, binary: plainBinary(t), dir: filepath.Join(disk, "data")}
		a.bulletins(600)
		before := a.history()
		a.flags = wordsFile(t)
		seg := a.segmenter()
		release := fill(t, disk, 96<<10)
		out, err := exec.Command(a.binary, a.args("reindex", "--data", a.dir)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "MiB are free: make room") {
			t.Fatalf("on a full disk: %v\n%s", err, out)
		}
		x := a.open(seg)
		_, err = x.Reindex(context.Background(), index.ReindexConfig{Dir: a.dir, Recipe: seg.Recipe(), Analyze: analyzer(seg), Batch: 16}, func() {})
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if err == nil || !strings.Contains(err.Error(), "full") {
			t.Fatalf("without asking for room: %v", err)
		}
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
