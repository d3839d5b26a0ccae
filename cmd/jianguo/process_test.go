package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/internal/testbed"
)

// patience bounds every wait. It is far above what a slow machine needs.
const patience = 2 * time.Minute

// binary returns a path under which the test binary runs as jianguo.
func binary(t *testing.T) string {
	t.Helper()
	return linked(t, "jianguo")
}

// linked returns a path with a name under which the test binary runs as another program.
func linked(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	testbed.OK(t, err)
	path := filepath.Join(t.TempDir(), name)
	testbed.OK(t, os.Symlink(self, path))
	return path
}

// plainBinary is binary, without the race detector. It is for tests of what the program
// does alone, of files and of processes that end: they find no races, and are many times
// slower under the detector.
func plainBinary(t *testing.T) string {
	t.Helper()
	if !testbed.Race {
		return binary(t)
	}
	return filepath.Join(testbed.Programs(t), "jianguo")
}

// lockedBuffer takes the output of a process while it runs.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // under mu
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// process is the real binary that serves a data directory.
type process struct {
	t       *testing.T
	binary  string
	data    string
	args    []string              // further arguments of serve
	env     []string              // further variables of its environment
	launch  func(*exec.Cmd) error // starts the process
	cmd     *exec.Cmd             // the last process
	ended   chan error            // receives how the last process ended, and is closed
	address datadir.Holder        // where the last process is reached
	log     *lockedBuffer         // what the last process logged
}

func newProcess(t *testing.T, binary, data string, args ...string) *process {
	return &process{t: t, binary: binary, data: data, args: args, launch: testbed.Start}
}

// serve starts the binary on a directory and waits until it can be reached.
func serve(t *testing.T, binary, data string, args ...string) *process {
	t.Helper()
	s := newProcess(t, binary, data, args...)
	s.start()
	return s
}

// serveReady is serve, until the service is ready.
func serveReady(t *testing.T, binary, data string, args ...string) *process {
	t.Helper()
	s := serve(t, binary, data, args...)
	s.ready()
	return s
}

// begin starts a process.
func (s *process) begin() {
	s.t.Helper()
	cmd := exec.Command(s.binary, append([]string{"serve", "--log-level", "info", "--data", s.data, "--listen", "127.0.0.1:0"}, s.args...)...)
	cmd.Env = append(os.Environ(), s.env...)
	s.run(cmd)
}

// run starts a command as the process.
func (s *process) run(cmd *exec.Cmd) {
	s.t.Helper()
	s.log, s.ended = new(lockedBuffer), make(chan error, 1)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	testbed.OK(s.t, s.launch(cmd))
	s.cmd = cmd
	go func(ended chan<- error) { ended <- cmd.Wait(); close(ended) }(s.ended)
}

// start starts a process and waits until its bus can be reached.
func (s *process) start() {
	s.t.Helper()
	s.begin()
	s.started()
}

// started waits until the bus of the last process can be reached.
func (s *process) started() {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		raw, err := os.ReadFile(filepath.Join(s.data, datadir.LockName))
		var h datadir.Holder
		if err == nil && json.Unmarshal(raw, &h) == nil && h.PID == s.cmd.Process.Pid && h.NATS != "" {
			s.address = h
			return
		}
		select {
		case err := <-s.ended:
			s.t.Fatalf("the service ended instead of starting: %v\n%s", err, s.log)
		case <-time.After(5 * time.Millisecond):
		}
	}
	s.kill()
	s.t.Fatalf("the service did not start: %s", s.log)
}

// ready waits until the service is ready.
func (s *process) ready() {
	s.t.Helper()
	s.eventually("ready", func() bool { return s.status("/readyz") == http.StatusOK })
}

// kill ends the process with SIGKILL.
func (s *process) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// signal sends a signal to the process.
func (s *process) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("%v: %v\n%s", sig, err, s.log)
	}
}

// hang ends a process that hangs. It prints its goroutines.
func (s *process) hang(format string, args ...any) {
	s.t.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGQUIT)
	<-s.ended
	s.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), s.log)
}

// stop ends the service in order and verifies its directory.
func (s *process) stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	s.stopped()
}

// stopped waits for a service that is ending, and verifies its directory.
func (s *process) stopped() {
	s.t.Helper()
	if err := s.end(); err != nil {
		s.t.Fatalf("an orderly end: %v\n%s", err, s.log)
	}
	does(s.t, s.binary, "", "verify", "--data", s.data)
}

// end waits for a service that is ending, and returns how it ended.
func (s *process) end() error {
	s.t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(patience):
		s.hang("the service does not end")
		return nil
	}
}

// post posts a body and returns the status and the answer.
func (s *process) post(path string, body []byte) (int, []byte, error) {
	return answered(http.Post(s.address.HTTP+path, "application/json", bytes.NewReader(body)))
}

// get returns the status and the answer of a GET.
func (s *process) get(path string) (int, []byte, error) {
	return answered(http.Get(s.address.HTTP + path))
}

func answered(res *http.Response, err error) (int, []byte, error) {
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// metrics returns the values of /metrics by their names with labels.
func (s *process) metrics() map[string]float64 {
	s.t.Helper()
	status, text, err := s.get("/metrics")
	if err != nil || status != http.StatusOK {
		s.t.Fatal(status, err)
	}
	values := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if end := strings.LastIndexByte(line, ' '); line[0] != '#' {
			if values[line[:end]], err = strconv.ParseFloat(strings.TrimSpace(line[end:]), 64); err != nil {
				s.t.Fatal(line, err)
			}
		}
	}
	return values
}

// ask posts JSON and decodes the answer. Any status but 2xx fails the test.
func (s *process) ask(path, body string, answer any) {
	s.t.Helper()
	status, b, err := s.post(path, []byte(body))
	if err != nil || status/100 != 2 {
		s.t.Fatalf("%s %.200s: %d %s %v\n%s", path, body, status, b, err, s.log)
	}
	if answer != nil {
		if err := json.Unmarshal(b, answer); err != nil {
			s.t.Fatalf("%s: %s: %v", path, b, err)
		}
	}
}

// status returns the status of a GET, or 0 without an answer.
func (s *process) status(path string) int {
	status, _, err := s.get(path)
	if err != nil {
		return 0
	}
	return status
}

// eventually waits until a condition holds.
func (s *process) eventually(what string, holds func() bool) {
	s.t.Helper()
	// The longer it has taken, the less often it is asked: each question costs both processes time.
	pause := 5 * time.Millisecond
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(pause) {
		if holds() {
			return
		}
		pause = min(pause*5/4, 50*time.Millisecond)
	}
	_, ready, _ := s.get("/readyz")
	s.t.Fatalf("%s\n%s: still not: %s; %s", s.log, s.t.Name(), what, ready) // what counts last: the log is long
}

// article returns an item whose text no other number has.
func article(n int) []byte {
	body := ""
	for i := range 12 {
		body += fmt.Sprintf("第%d号通报第%d段：%c%c%c街道与%c%c河段的巡查已经完成。", n, i,
			0x4e00+(n*7919+i*104729)%20000, 0x4e00+(n*15485863+i*31)%20000, 0x4e00+(n*977+i*6700417)%20000, 0x4e00+(n*3571+i*91)%20000, 0x4e00+(n*1000003+i*17)%20000)
	}
	b, err := json.Marshal(ingest.Item{ID: fmt.Sprint("n", n), Body: body})
	if err != nil {
		panic(err) // texts always marshal
	}
	return b
}

// jetstream connects to the service's bus until the test ends.
func (s *process) jetstream() jetstream.JetStream {
	s.t.Helper()
	return bus.JetStream(connect(s.t, s.address.NATS, nats.Token(s.address.Token)))
}

// connect connects to a bus until the test ends.
func connect(t *testing.T, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url, options...)
	testbed.OK(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// fileOf writes lines into a file until the test ends.
func fileOf(t *testing.T, lines ...[]byte) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "file")
	testbed.OK(t, os.WriteFile(name, bytes.Join(lines, []byte("\n")), 0o600))
	return name
}
