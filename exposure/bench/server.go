package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is a process measured from outside.
type child struct {
	cmd    *exec.Cmd
	addr   string // where it is asked
	stderr bytes.Buffer
}

// cpus are the processor for a server and those left for the load.
func cpus() (server int, load []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return -1, nil
	}
	server = -1
	for i := range 1024 {
		switch {
		case !set.IsSet(i):
		case server < 0:
			server = i
		default:
			load = append(load, i)
		}
	}
	return server, load
}

// pinSelf moves every thread of this process to the given processors.
func pinSelf(to []int) error {
	if len(to) == 0 {
		return errors.New("no processor to spare")
	}
	var set unix.CPUSet
	for _, c := range to {
		set.Set(c)
	}
	runtime.GOMAXPROCS(max(2, len(to)))
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		tid, _ := strconv.Atoi(t.Name())
		if err := unix.SchedSetaffinity(tid, &set); err != nil {
			return err
		}
	}
	return nil
}

// startOn starts a command on one processor: the thread that forks is moved there for
// the moment, and the child inherits that.
func startOn(cmd *exec.Cmd, cpu int) error {
	if cpu < 0 {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		return cmd.Start()
	}
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return cmd.Start()
	}
	defer unix.SchedSetaffinity(0, &old)
	return cmd.Start()
}

// server is a running jianguo.
type server struct {
	child
	args ServerArgs
}

// startServer starts a server on an empty directory, unless one is given, and waits
// until it is ready.
func (b *bench) startServer(a ServerArgs) (*server, error) {
	var err error
	if a.Dir == "" {
		if a.Dir, err = os.MkdirTemp(b.Dir, "server-"); err != nil {
			return nil, err
		}
	}
	a.HTTP, a.NATS = "127.0.0.1:0", "127.0.0.1:0" // it says which ports it got
	s := &server{child: child{cmd: b.Start(a)}, args: a}
	s.cmd.Stderr = &s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := startOn(s.cmd, b.cpu); err != nil {
		return nil, err
	}
	for range 1200 {
		if s.located() {
			resp, err := http.Get("http://" + s.addr + "/readyz")
			if err == nil {
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					return s, nil
				}
			}
		}
		if b.ctx.Err() != nil || s.exited() {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("the server did not become ready: %s", s.stderr.String())
}

// located reads from the data directory where the server can be reached, once it has
// written that there.
func (s *server) located() bool {
	raw, err := os.ReadFile(filepath.Join(s.args.Dir, "LOCK"))
	var at struct {
		PID        int
		HTTP, NATS string
	}
	if err != nil || json.Unmarshal(raw, &at) != nil || at.PID != s.cmd.Process.Pid || at.HTTP == "" || at.NATS == "" {
		return false
	}
	s.addr, s.args.NATS = strings.TrimPrefix(at.HTTP, "http://"), strings.TrimPrefix(at.NATS, "nats://")
	return true
}

// exited reports whether the child has ended, which stop has yet to be told.
func (c *child) exited() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}

func (c *child) stop() {
	c.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { c.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		c.cmd.Process.Kill()
		<-done
	}
}

// cpuTime is the processor time the child has used, user and system, by the clock that
// clock_getcpuclockid(3) would name.
func (c *child) cpuTime() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^c.cmd.Process.Pid)<<3|2, &ts)
	return time.Duration(ts.Nano()), err
}

// post sends one request the ordinary way.
func (s *server) post(path string, body []byte) error {
	resp, err := http.Post("http://"+s.addr+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		msg, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("POST %s: %s: %s", path, resp.Status, msg)
	}
	return nil
}

// metric reads one value of /metrics.
func (s *server) metric(ctx context.Context, name string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindSubmatch(b)
	if m == nil {
		return 0, fmt.Errorf("no metric %s", name)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
