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
	"sync"
	"syscall"
	"testing"
	"time"

	"jianguo/ingest"
	"jianguo/internal/datadir"
)

// patience is how long anything is waited for, on however slow a machine.
const patience = 2 * time.Minute

// binary is a path under which the test binary is jianguo.
func binary(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "jianguo")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// lockedBuffer takes what a process says while it runs.
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

// running is the real binary as a service.
type running struct {
	t      *testing.T
	binary string
	data   string
	cmd    *exec.Cmd
	at     datadir.Holder
	said   *lockedBuffer
}

// serve starts the binary on a directory and waits until it can be reached.
func serve(t *testing.T, binary, data string, args ...string) *running {
	t.Helper()
	s := &running{t: t, binary: binary, data: data, said: new(lockedBuffer)}
	s.cmd = exec.Command(binary, append([]string{"serve", "--log-level", "info", "--data", data, "--listen", "127.0.0.1:0"}, args...)...)
	s.cmd.Stderr = s.said
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		raw, err := os.ReadFile(filepath.Join(data, datadir.LockName))
		if err == nil && json.Unmarshal(raw, &s.at) == nil && s.at.PID == s.cmd.Process.Pid && s.at.NATS != "" {
			return s
		}
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	t.Fatalf("the service did not start: %s", s.said)
	return nil
}

// stop ends the service as an operator does, and proves its directory whole.
func (s *running) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	s.stopped()
}

// stopped waits for the end of a service that has been told to.
func (s *running) stopped() {
	s.t.Helper()
	if err := s.cmd.Wait(); err != nil {
		s.t.Fatalf("an orderly end: %v\n%s", err, s.said)
	}
	if out, err := exec.Command(s.binary, "verify", "--data", s.data).CombinedOutput(); err != nil {
		s.t.Fatalf("verify: %v\n%s", err, out)
	}
}

// post posts a body and returns the status and the answer.
func (s *running) post(path string, body []byte) (int, []byte, error) {
	res, err := http.Post(s.at.HTTP+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// status is that of a GET, 0 where there is no answer.
func (s *running) status(path string) int {
	res, err := http.Get(s.at.HTTP + path)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// eventually waits until something holds.
func (s *running) eventually(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	s.t.Fatalf("still not: %s\n%s", what, s.said)
}

// article is an item with a text of its own for every number.
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
