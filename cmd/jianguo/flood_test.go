package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"jianguo/api/tokens"
	"jianguo/bus"
	"jianguo/internal/testbed"
)

// flood opens connections from an address of this machine and sends the same on each. The
// connections stay open until the test ends.
func (s *process) flood(from string, connections int, sent string) {
	s.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	for range connections {
		conn, err := dialer.Dial("tcp", strings.TrimPrefix(s.address.HTTP, "http://"))
		testbed.OK(s.t, err)
		s.t.Cleanup(func() { conn.Close() })
		_, _ = io.WriteString(conn, sent) // the service may have closed it
	}
}

// tokenFile makes a file with one token.
func tokenFile(t *testing.T, role string) (file, token string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "tokens")
	token, err := tokens.Add(file, "e", role)
	testbed.OK(t, err)
	return file, token
}

// as returns the status of a request with a token, 0 without an answer. It has a
// connection of its own.
func (s *process) as(token, method, path, body string) int {
	s.t.Helper()
	status, _, _ := s.header(token, method, path, body)
	return status
}

func (s *process) header(token, method, path, body string) (int, http.Header, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.address.HTTP+path, strings.NewReader(body))
	testbed.OK(s.t, err)
	req.Close = true
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, err.Error()
	}
	return res.StatusCode, res.Header, string(answer)
}

// TestSlowSignIns: connections without a token that send one byte of a body each leave
// requests with a body to clients with a token.
func TestSlowSignIns(t *testing.T) {
	t.Parallel()
	file, recall := tokenFile(t, "recall")
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0", "--tokens", file)
	for size, want := range map[int]int{15 << 10: http.StatusUnauthorized, 17 << 10: http.StatusRequestEntityTooLarge} {
		if status, _, answer := s.header("", "POST", "/console/signin", strings.Repeat("t", size)); status != want {
			t.Errorf("%d bytes of a caller without a token: %d %.100s", size, status, answer)
		}
	}
	for _, from := range []string{"127.0.0.2", "127.0.0.3"} {
		s.flood(from, 2150, "POST /console/signin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nt")
		if status, _, answer := s.header(recall, "POST", "/filter", `{"user":"u","items":["a"]}`); status != 200 {
			t.Errorf("a filter beside slow requests: %d %s", status, answer)
		}
	}
	s.stop()
}

// TestManyConnections: idle connections beyond the limit of open files give way to others,
// and what is published is stored, without a restart.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	s := newProcess(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	s.launch = func(cmd *exec.Cmd) error {
		cmd.Args = append([]string{"sh", "-c", `ulimit -Sn 128 && ulimit -Hn 512 && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		return testbed.Start(cmd)
	}
	s.start()
	s.ready()
	s.flood("127.0.0.2", 1000, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	for n := range 20 {
		s.publish(n)
	}
	var open int
	for ; open < 1000; open++ {
		conn, err := nats.Connect(s.address.NATS, nats.Token(s.address.Token), nats.NoReconnect(), nats.Timeout(5*time.Second))
		if err != nil {
			break
		}
		defer conn.Close()
	}
	if open == 0 || open == 1000 {
		t.Errorf("the bus took %d connections", open)
	}
	for n := 20; n < 40; n++ {
		s.publish(n)
	}
	s.stop()
}

// TestNoDescriptors: what is published while no file can be opened is acknowledged once
// one can be, without a restart.
func TestNoDescriptors(t *testing.T) {
	t.Parallel()
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	s.publish(0)
	js := s.jetstream()
	for try := 1; !s.withoutDescriptors(js, article(try)); try++ {
		if try == 5 {
			t.Fatal("the stream could never write without opening a file")
		}
		s.ready()
	}
	s.publish(9)
	s.stop()
}

// withoutDescriptors publishes an article while the service can open no file, until it says
// that it waits for that, and expects the acknowledgement once it can. It reports false if
// JetStream itself had to open a file to write: then it answers with an error.
func (s *process) withoutDescriptors(js jetstream.JetStream, article []byte) bool {
	s.t.Helper()
	var old unix.Rlimit
	pid := s.cmd.Process.Pid
	err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old)
	if err == nil {
		err = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: old.Max}, nil)
	}
	testbed.OK(s.t, err)
	restore := func() {
		testbed.OK(s.t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil))
	}
	// A message is synced without opening a file while the stream's directory stays as it is.
	touched := filepath.Join(s.data, "bus", "jetstream", "$G", "streams", bus.StreamItems, "msgs", "touched")
	testbed.OK(s.t, errors.Join(os.WriteFile(touched, nil, 0o600), os.Remove(touched)))
	answered, err := js.PublishAsync(bus.SubjectPublish, article)
	testbed.OK(s.t, err)
	var refusal error
	s.eventually("the service says why it waits", func() bool {
		select {
		case refusal = <-answered.Err():
		default:
		}
		return refusal != nil || strings.Contains(s.log.String(), "files cannot be opened to sync them")
	})
	restore()
	select {
	case <-answered.Ok():
		return true
	case refusal = <-answered.Err():
	case <-time.After(patience):
		s.t.Fatal("never acknowledged")
	}
	s.t.Logf("refused: %v", refusal)
	return false
}

// TestManyPolls: readers that wait for events leave publishing to others.
func TestManyPolls(t *testing.T) {
	t.Parallel()
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	s.signal(syscall.SIGHUP) // there is nothing to reload, and no reason to end
	var wg sync.WaitGroup
	refused := make(chan int, 400)
	for range 400 {
		wg.Go(func() {
			if status, h, _ := s.header("", "GET", "/verdicts?after=1000&wait=3s", ""); status != 200 && h.Get("Retry-After") != "" {
				refused <- status
			}
		})
	}
	if status := <-refused; status != http.StatusTooManyRequests {
		t.Errorf("a reader too many: %d", status)
	}
	for n := range 20 {
		s.publish(n)
	}
	if status := s.as("", "DELETE", "/items/n1", ""); status != 200 {
		t.Errorf("a withdrawal beside polls: %d", status)
	}
	wg.Wait()
	s.stop()
}

// TestLogsNameNoUsers: whatever is asked about users, in whatever form, the log does not
// tell who they are.
func TestLogsNameNoUsers(t *testing.T) {
	t.Parallel()
	const user = "reader-4711"
	s := serveReady(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0", "--log-level", "debug")
	for path, body := range map[string]string{
		"/exposures":        `{"user":"` + user + `","kind":"seen","items":["a"]}`,
		"/exposures/unsee":  `{"user":"` + user + `","items":["b"]}`,
		"/exposures/forget": `{"user":"` + user + `"}`,
		"/exposures/query":  `{"user":"` + user + `","items":5}`,
		"/filter":           `{"user":"` + user + `","items":["a",{"` + user + `"`,
		"/items":            `{"user":"` + user + `"`,
	} {
		s.as("", "POST", path, body)
	}
	s.as("", "GET", "/hot?user="+user, "")
	s.as("", "GET", "/nothing?user="+user, "")
	s.stop()
	if log := s.log.String(); !strings.Contains(log, "path=/exposures/forget") || strings.Contains(log, user) {
		t.Errorf("the log names the user, or not the request:\n%s", log)
	}
}

// TestOverload: of more articles and reports than can be answered, each gets its answer or is
// refused with a time to wait. The service stays small, and works as before afterwards.
func TestOverload(t *testing.T) {
	t.Parallel()
	s := serveReady(t, plainBinary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	defer client.CloseIdleConnections()
	var sent, accepted, refused atomic.Int64
	send := func(n int) error {
		path, body := "/items", article(n)
		if n%2 == 1 {
			path, body = "/exposures", fmt.Appendf(nil, `{"user":"u%d","kind":"seen","items":["n%d"]}`, n, n)
		}
		res, err := client.Post(s.address.HTTP+path, "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		switch {
		case res.StatusCode == http.StatusTooManyRequests && res.Header.Get("Retry-After") != "":
			refused.Add(1)
		case res.StatusCode == http.StatusOK, res.StatusCode == http.StatusAccepted, res.StatusCode == http.StatusNoContent:
			accepted.Add(1)
		default:
			return fmt.Errorf("%s: %d %s", path, res.StatusCode, answer)
		}
		return err
	}
	// Stopped while the first thousand requests arrive, the service meets them all at once,
	// however quick the machine is or however busy.
	s.signal(syscall.SIGSTOP)
	var clients errgroup.Group
	for range 1000 {
		clients.Go(func() error {
			for refused.Load() < 100 && sent.Load() < 20_000 {
				if err := send(int(sent.Add(1))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	time.Sleep(time.Second)
	s.signal(syscall.SIGCONT)
	testbed.OK(t, clients.Wait())
	t.Logf("%d sent, %d accepted, %d refused", sent.Load(), accepted.Load(), refused.Load())
	if accepted.Load()+refused.Load() != sent.Load() || accepted.Load() == 0 || refused.Load() == 0 {
		t.Errorf("of %d requests %d were accepted and %d refused", sent.Load(), accepted.Load(), refused.Load())
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	testbed.OK(t, err)
	var peak int
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); !ok {
		t.Errorf("no peak of memory in %s", status)
	} else if _, err := fmt.Sscan(rest, &peak); err != nil || peak > 768<<10 {
		t.Errorf("%d KiB were resident, %v", peak, err)
	}
	s.eventually("takes an article at once", func() bool { status, _, err := s.post("/items", article(1<<20)); return err == nil && status == 200 })
	s.stop()
}
