// Package proc starts the processes that are measured from outside, each on a
// processor of its own where the machine has several.
package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jianguo/internal/datadir"
)

// CPUs returns the processor for a server and those that remain for the load.
// server is -1 where affinity is not available.
func CPUs() (server int, load []int) {
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

// PinSelf moves every thread of this process to the given processors.
func PinSelf(to []int) error {
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

// startOn starts a command on one processor: the thread that forks moves there for
// the moment, and the child inherits its affinity. cpu < 0: any processor.
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

// Process is a running child.
type Process struct {
	Addr   string // host and port where it listens
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// Start starts a command on one processor; cpu < 0: on any. The child ends with
// this process.
func Start(cmd *exec.Cmd, cpu int) (*Process, error) {
	p := &Process{cmd: cmd}
	cmd.Stderr = &p.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return p, startOn(cmd, cpu)
}

// Exited reports whether the child has ended; Stop must be called all the same.
func (p *Process) Exited() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}

// Stop ends the child, with a kill if it takes more than a minute, and returns
// what it wrote to standard error.
func (p *Process) Stop() (stderr string) {
	p.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		p.cmd.Process.Kill()
		<-done
	}
	return p.stderr.String()
}

// CPUTime is the processor time the child has used, user and system, by the clock
// that clock_getcpuclockid(3) names.
func (p *Process) CPUTime() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^p.cmd.Process.Pid)<<3|2, &ts)
	return time.Duration(ts.Nano()), err
}

// PeakMemory is the most that the child had resident until ctx was done, in MiB.
func (p *Process) PeakMemory(ctx context.Context) (most float64) {
	for {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)) // an error means that it has ended
		if m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status); m != nil {
			kib, _ := strconv.ParseFloat(string(m[1]), 64)
			most = max(most, kib/1024)
		}
		select {
		case <-ctx.Done():
			return most
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Post sends one JSON request.
func (p *Process) Post(path string, body []byte) error {
	resp, err := http.Post("http://"+p.Addr+path, "application/json", bytes.NewReader(body))
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

// Metric reads one value of /metrics.
func (p *Process) Metric(ctx context.Context, name string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Addr+"/metrics", nil)
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

// Server is a running jianguo service.
type Server struct {
	*Process
	Holder datadir.Holder
}

// StartServer starts `jianguo serve` and waits until it is ready. The command must
// name dir with --data.
func StartServer(ctx context.Context, cmd *exec.Cmd, dir string, cpu int) (*Server, error) {
	p, err := Start(cmd, cpu)
	if err != nil {
		return nil, err
	}
	s := &Server{Process: p}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline) && ctx.Err() == nil && !p.Exited(); time.Sleep(100 * time.Millisecond) {
		if s.ready(dir) {
			return s, nil
		}
	}
	return nil, errors.Join(ctx.Err(), fmt.Errorf("the server did not become ready: %s", p.Stop()))
}

// ready reads the server's addresses from the lock file of its data directory, and
// asks whether it is ready.
func (s *Server) ready(dir string) bool {
	h, err := datadir.ReadHolder(dir)
	if err != nil || h.PID != s.cmd.Process.Pid || h.HTTP == "" || h.NATS == "" {
		return false
	}
	s.Holder, s.Addr = h, strings.TrimPrefix(h.HTTP, "http://")
	resp, err := http.Get(h.HTTP + "/readyz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
