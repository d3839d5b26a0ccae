package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jianguo/internal/testbed"
)

// dictionary is a file of words that changes between two recipes.
type dictionary struct {
	t    *testing.T
	path string
}

func newDictionary(t *testing.T) *dictionary {
	d := &dictionary{t, filepath.Join(t.TempDir(), "words.txt")}
	d.set("街道与 9000 n\n")
	return d
}

func (d *dictionary) set(words string) {
	d.t.Helper()
	testbed.OK(d.t, os.WriteFile(d.path, []byte(words), 0o600))
}

// clients use a service until stop is called: each article gets its verdict, and
// look-ups and filters are answered. stop returns how many articles were acknowledged.
func (s *process) clients(first int) (stop func() (acked []int)) {
	done, ended := make(chan struct{}), make(chan []int)
	go func() {
		var acked []int
		defer func() { ended <- acked }()
		for n := first; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			status, answer, err := s.post("/items", article(n))
			if err != nil {
				continue // the service was killed
			}
			if status != http.StatusOK || !strings.Contains(string(answer), `"unique"`) {
				s.t.Errorf("article %d: %d %s", n, status, answer)
				return
			}
			acked = append(acked, n)
			copied := strings.Replace(strings.Replace(string(article(n)), fmt.Sprintf(`"n%d"`, n), fmt.Sprintf(`"c%d"`, n), 1), "已经完成", "已经全部完成", 1)
			if _, answer, err := s.post("/items", []byte(copied)); err == nil && !strings.Contains(string(answer), `"duplicate"`) {
				s.t.Errorf("copy of article %d: %s", n, answer)
			}
			if status, _, err := s.get(fmt.Sprint("/items/n", n)); err == nil && status != http.StatusOK {
				s.t.Errorf("look-up of article %d: %d", n, status)
			}
			if status, _, err := s.post("/filter", []byte(`{"user":"u","items":["a","b"]}`)); err == nil && status != http.StatusOK {
				s.t.Errorf("filter: %d", status)
			}
		}
	}()
	return func() []int { close(done); return <-ended }
}

// TestReindexUnderService: a service takes a new recipe without a stop. Meanwhile articles get
// their verdicts. Then it judges as a catalogue that the new recipe made.
func TestReindexUnderService(t *testing.T) {
	t.Parallel()
	words, sample := newDictionary(t), filepath.Join("..", "..", "data", "sample", "corpus.jsonl")
	a, fresh := newArchive(t, plainBinary(t)), newArchive(t, plainBinary(t))
	a.flags, fresh.flags = segmentFlags{UserDict: words.path}, segmentFlags{UserDict: words.path}
	a.run("ingest", "--create", sample)
	s := serveReady(t, binary(t), a.dir, "--nats-listen", "127.0.0.1:0", "--user-dict", words.path)
	words.set(sampleWords)
	stop := s.clients(0)
	if out := a.run("reindex"); !strings.Contains(out, "from now on") {
		t.Errorf("reindex: %s", out)
	}
	acked := stop()
	if len(acked) == 0 {
		t.Error("no article got its verdict meanwhile")
	}
	if out := a.run("reindex"); !strings.Contains(out, "nothing to do") {
		t.Errorf("once more: %s", out)
	}
	seg := a.segmenter()
	if _, answer, err := s.get("/metrics"); err != nil || !strings.Contains(string(answer), `recipe="`+seg.Recipe()) ||
		!strings.Contains(string(answer), "jianguo_index_reindex_progress 1\n") {
		t.Errorf("the metrics know another recipe, or not that the reindex has ended: %v", err)
	}
	s.stop()
	fresh.run("ingest", "--create", sample)
	x, other := a.open(seg), fresh.open(seg)
	if measured := sameVerdicts(t, x, other, seg, sample); measured < 30 {
		t.Errorf("%d copies were found by their fingerprints", measured)
	}
	for _, n := range acked {
		if _, err := x.Item(context.Background(), fmt.Sprint("n", n)); err != nil {
			t.Errorf("article %d: %v", n, err)
		}
	}
	testbed.OK(t, errors.Join(x.Close(), other.Close()))
}

// TestKillReindexUnderService kills a service at random moments of a reindex. What was
// acknowledged stays, the directory is whole, and the command ends the reindex later.
func TestKillReindexUnderService(t *testing.T) {
	t.Parallel()
	k, r := newKilled(t)
	words := newDictionary(t)
	k.args = append(k.args, "--user-dict", words.path)
	a := &archive{t: t, binary: k.binary, dir: k.data, flags: segmentFlags{UserDict: words.path}}
	a.bulletins(300)
	var acked []int
	alone, unfinished := time.Duration(0), 0
	for round := range 1 + testbed.Count(1, 4, 12) {
		k.start()
		k.ready()
		words.set(fmt.Sprintf("街道与 %d n\n%s", 100+round, map[int]string{1: sampleWords}[round%2]))
		stop := k.clients(1000 * (round + 1))
		cmd, began := exec.Command(k.binary, a.args("reindex", "--data", k.data)...), time.Now()
		testbed.OK(t, cmd.Start())
		var err error
		if round == 0 {
			err, alone = cmd.Wait(), time.Since(began)
			k.kill()
		} else {
			time.Sleep(alone/2 + time.Duration(r.Int64N(int64(alone/2))))
			k.kill()
			err = cmd.Wait()
		}
		if err != nil {
			unfinished++
		}
		acked = append(acked, stop()...)
		a.verify()
	}
	t.Logf("%d articles acknowledged; one reindex takes %v, %d were not finished", len(acked), alone, unfinished)
	k.start()
	k.ready()
	if out := a.run("reindex"); !strings.Contains(out, "items are compared by recipe") {
		t.Errorf("reindex: %s", out)
	}
	for _, n := range acked {
		if status := k.status(fmt.Sprint("/items/n", n)); status != http.StatusOK {
			t.Errorf("article %d was acknowledged: %d", n, status)
		}
	}
	k.stop()
	if len(acked) == 0 {
		t.Error("nothing was acknowledged")
	}
}
