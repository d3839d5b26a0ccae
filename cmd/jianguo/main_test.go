package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/rogpeppe/go-internal/testscript"

	"jianguo/internal/clock"
	"jianguo/internal/testbed"
)

// busWaitEnv says how long the start of a process waits for a bus.
const busWaitEnv = "JIANGUO_TEST_BUS_WAIT"

func TestMain(m *testing.M) {
	// Most tests wait for a disk, a timeout or the end of a process. A -parallel of the
	// command line comes later and wins.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	// Of the tests of quality: a service would warn that it does not know it.
	if err := os.Unsetenv("JIANGUO_CORPUS"); err != nil {
		panic(err)
	}
	if path := os.Getenv(clockEnv); path != "" {
		clocks = func() clock.Source { return jumping(path) }
	}
	if wait, err := time.ParseDuration(os.Getenv(busWaitEnv)); err == nil {
		busWait = wait
	}
	testscript.Main(m, map[string]func(){"jianguo": main, "nats-server": natsServer})
}

// TestSignalWhileReading: a signal ends a command that waits for standard input.
func TestSignalWhileReading(t *testing.T) {
	t.Parallel()
	in, more := io.Pipe()
	defer time.AfterFunc(patience, func() { _ = more.Close() }).Stop()
	ctx, signal := context.WithCancelCause(t.Context())
	go func() {
		_, _ = more.Write([]byte("the beginning")) // read by then
		signal(errors.New("interrupt signal received"))
	}()
	var said bytes.Buffer
	if code := run(ctx, []string{"explain", "-", "other"}, in, io.Discard, &said); code != 1 || said.String() != "jianguo: interrupt signal received\n" {
		t.Errorf("%d %s", code, &said)
	}
}

// TestSlowInput: an ingest of nothing yet does not ask whether a service judges it.
func TestSlowInput(t *testing.T) {
	t.Parallel()
	in, more := io.Pipe()
	time.AfterFunc(silence+time.Second, func() { _, _ = more.Write(article(1)); _ = more.Close() })
	var said bytes.Buffer
	if code := run(t.Context(), []string{"ingest", "--create", "--data", t.TempDir() + "/d", "-"}, in, io.Discard, &said); code != 0 ||
		strings.Contains(said.String(), noVerdict) {
		t.Errorf("%d %s", code, &said)
	}
}

// TestIngestCutOff: of a file that cannot be read to its end, an ingest says what became of the items before, and reads
// no later file, whose articles would be first.
func TestIngestCutOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var cut bytes.Buffer
	z := gzip.NewWriter(&cut)
	_, err := fmt.Fprintf(z, "%s\n%s\n", article(1), article(2))
	if err := errors.Join(err, z.Flush(), os.WriteFile(dir+"/cut", cut.Bytes(), 0o600), os.WriteFile(dir+"/next", article(3), 0o600),
		os.WriteFile(dir+"/marked", append([]byte("\ufeff"), article(4)...), 0o600)); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	code := run(t.Context(), []string{"ingest", "--create", "--data", dir + "/d", dir + "/cut", dir + "/next"}, nil, &out, &said)
	if code != 1 || !strings.HasPrefix(out.String(), "2 items ") || said.String() != "jianguo: "+dir+"/cut: unexpected EOF\n" {
		t.Errorf("%d %s%s", code, &out, &said)
	}
	// With a byte order mark, an article is JSON all the same.
	out.Reset()
	if code := run(t.Context(), []string{"explain", "--json", dir + "/marked", dir + "/next"}, nil, &out, &said); code != 0 ||
		!strings.Contains(out.String(), `"id": "n4"`) {
		t.Errorf("%d %s%s", code, &out, &said)
	}
}

// TestIngestGivesUp: where a bus takes no items, an ingest says so once and ends, and does not count what it has not read.
func TestIngestGivesUp(t *testing.T) {
	t.Parallel()
	b := startBroker(t, nil) // no service has made a stream
	items := filepath.Join(t.TempDir(), "items")
	var lines []byte
	for n := range 5000 {
		lines = fmt.Appendf(lines, "%s\n", article(n))
	}
	testbed.OK(t, os.WriteFile(items, lines, 0o600))
	var out, said bytes.Buffer
	code := run(t.Context(), []string{"ingest", "--nats", b.url(), items}, nil, &out, &said)
	if code != 1 || !strings.HasPrefix(out.String(), "0 items ") || strings.Contains(said.String(), "item failed") ||
		!strings.Contains(said.String(), "run it again when the service is back") {
		t.Errorf("%d %s%.300s", code, &out, &said)
	}
}

// TestIngestAfterRestart: an ingest goes on when the service of its directory has started again, with another token and
// at another port.
func TestIngestAfterRestart(t *testing.T) {
	t.Parallel()
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	cmd, out := exec.Command(s.binary, "ingest", "--data", s.data, "-"), new(lockedBuffer)
	cmd.Stdout, cmd.Stderr = out, out
	lines, err := cmd.StdinPipe()
	if err == nil {
		err = testbed.Start(cmd)
	}
	for n := range 2 {
		if err == nil {
			_, err = lines.Write(append(article(n), '\n'))
		}
		testbed.OK(t, err)
		if n == 0 {
			s.eventually("the first is judged", func() bool { return s.status("/items/n0") == 200 })
			s.kill()
			s.start()
		}
	}
	if err := errors.Join(lines.Close(), cmd.Wait()); err != nil || !strings.Contains(out.String(), "2 items") || !strings.Contains(out.String(), "0 failed") {
		t.Errorf("%v %s", err, out)
	}
	s.stop()
}

// TestOtherEncoding: of a text that is not UTF-8 there is no verdict.
func TestOtherEncoding(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	gbk := strings.NewReader("\xcd\xbc\xca\xe9\xb9\xdd\xd0\xc2\xb9\xdd\xbf\xaa\xb7\xc5")
	if code := run(t.Context(), []string{"check", "--data", t.TempDir()}, gbk, io.Discard, &said); code != 1 || said.String() != "jianguo: -: is not UTF-8\n" {
		t.Errorf("%d %s", code, &said)
	}
}
