package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"jianguo/data"
	"jianguo/internal/tier"
)

// segmenter starts `jianguo segment`.
func (s *process) segmenter(args ...string) *process {
	s.t.Helper()
	p := newProcess(s.t, s.binary, s.data)
	p.log, p.ended = new(lockedBuffer), make(chan error, 1)
	cmd := exec.Command(p.binary, append([]string{"segment"}, args...)...)
	cmd.Stderr = p.log
	if err := p.launch(cmd); err != nil {
		s.t.Fatal(err)
	}
	p.cmd = cmd
	go func(ended chan<- error) { err := cmd.Wait(); ended <- err; close(ended) }(p.ended)
	s.t.Cleanup(p.kill) // the command becomes another program, which forgets to end with this process
	return p
}

// bySegmenters is how many items segmenters have prepared.
func (s *process) bySegmenters() int {
	_, answer, err := s.get("/metrics")
	m := regexp.MustCompile(`(?m)^jianguo_ingest_segmenter_items_total (\d+)`).FindSubmatch(answer)
	if err != nil || m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

// Verdicts, events and the catalogue are the same whether the service prepares articles itself or
// segmenters do, which are killed and hang in the middle.
func TestSegmenters(t *testing.T) {
	t.Parallel()
	lines, err := fs.ReadFile(data.FS, "sample/corpus.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []byte
	for n := range tier.Count(1, 4, 20) { // the sample again and again, and articles of their own
		corpus = append(corpus, bytes.ReplaceAll(lines, []byte(`"id":"`), fmt.Appendf(nil, `"id":"%d-`, n))...)
		for i := range 100 {
			corpus = append(append(corpus, article(1000*n+i)...), '\n')
		}
	}
	corpus = append(corpus, "{\"id\":\"bad\"}\n"...) // refused
	name := filepath.Join(t.TempDir(), "items.jsonl")
	if err := os.WriteFile(name, corpus, 0o600); err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`"at":"[^"]*"`)
	verdicts := func(s *process) string {
		t.Helper()
		out := filepath.Join(t.TempDir(), "verdicts")
		if b, err := exec.Command(s.binary, "ingest", "--data", s.data, "--verdicts", out, name).CombinedOutput(); err == nil || !strings.Contains(string(b), "1 item failed") {
			t.Fatalf("%v: %s", err, b)
		}
		raw, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return at.ReplaceAllString(string(raw), "")
	}
	alone := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	alone.ready()
	want := verdicts(alone)
	if alone.bySegmenters() != 0 {
		t.Error("segmenters from nowhere")
	}
	alone.stop()

	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	s.ready()
	killed, hangs, ends := s.segmenter("--data", s.data), s.segmenter("--data", s.data, "--workers", "1"), s.segmenter("--data", s.data)
	for _, p := range []*process{killed, hangs, ends} {
		p.eventually("a segmenter has begun", func() bool { return strings.Contains(p.log.String(), "prepares items") })
	}
	done := make(chan string)
	go func() { done <- verdicts(s) }()
	s.eventually("segmenters prepare", func() bool { return s.bySegmenters() > 20 })
	hangs.signal(syscall.SIGSTOP)
	killed.kill()
	if got := <-done; got != want {
		t.Errorf("verdicts differ with segmenters:\n%s", firstDifference(got, want))
	}
	hangs.signal(syscall.SIGCONT)
	hangs.kill()
	ends.signal(syscall.SIGTERM)
	if err := <-ends.ended; err != nil {
		t.Errorf("a segmenter's orderly end: %v\n%s", err, ends.log)
	}
	t.Logf("%d of %d items by segmenters", s.bySegmenters(), bytes.Count(corpus, []byte("\n")))
	// One of another recipe is told so, and is of no use.
	words := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(words, []byte("见过服务 1000 nz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, s.binary, "give it the same version, --user-dict and --residue", "segment", "--data", s.data, "--user-dict", words)
	fails(t, s.binary, "without a token this is not allowed", "segment", "--nats", s.address.NATS)
	s.stop()
	fails(t, s.binary, "no service holds", "segment", "--data", s.data)
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n" + y[i]
		}
	}
	return fmt.Sprint(len(x), " lines, want ", len(y))
}
