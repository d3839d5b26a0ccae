package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jianguo/internal/datadir"
	"jianguo/internal/must"
)

// pinSelf moves every thread of this process away from the first processor, which the servers have.
func pinSelf() error {
	last := runtime.NumCPU() - 1
	if last == 0 {
		return errors.New("no processor to spare")
	}
	runtime.GOMAXPROCS(max(2, last))
	list, self := fmt.Sprintf("1-%d", last), fmt.Sprint(os.Getpid())
	return exec.Command("taskset", "--all-tasks", "--cpu-list", "--pid", list, self).Run()
}

type process struct {
	addr   string // host and port where it listens
	nats   string // URL of its bus; Redis has none
	token  string // for its bus
	cmd    *exec.Cmd
	output bytes.Buffer
}

// startProcess starts a command, which ends with this process. pinned: on the first processor.
func startProcess(ctx context.Context, pinned bool, command ...string) (*process, error) {
	if pinned {
		command = append([]string{"taskset", "--cpu-list", "0"}, command...)
	}
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return p, p.cmd.Start()
}

// exited reports whether the child has ended; stop must be called all the same.
func (p *process) exited() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}

// stop ends the child, with a kill if it takes more than a minute, and returns what it wrote.
func (p *process) stop() (output string) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	kill := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	_ = p.cmd.Wait() // ended by a signal
	return p.output.String()
}

// cpuTime is the processor time the child has used, user and system, by the clock that clock_getcpuclockid(3) names.
func (p *process) cpuTime() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^p.cmd.Process.Pid)<<3|2, &ts)
	return time.Duration(ts.Nano()), err
}

func (p *process) post(path string, body []byte) error {
	resp, err := http.Post("http://"+p.addr+path, "application/json", bytes.NewReader(body))
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

// awaitMetric returns when a value of /metrics is 1. It panics on errors (must).
func (p *process) awaitMetric(ctx context.Context, name string) {
	for values := ""; !strings.Contains(values, "\n"+name+" 1\n"); time.Sleep(20 * time.Millisecond) {
		must.Do(ctx.Err())
		resp := must.Get(http.Get("http://" + p.addr + "/metrics"))
		b, err := io.ReadAll(resp.Body)
		must.Do(errors.Join(err, resp.Body.Close()))
		values = string(b)
	}
}

// startService starts `jianguo serve` on a data directory and free ports, and waits until it is ready. It panics on
// errors (must).
func startService(ctx context.Context, pinned bool, jianguo, dir string, args ...string) *process {
	command := []string{jianguo, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0"}
	p := must.Get(startProcess(ctx, pinned, append(command, args...)...))
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline) && !p.exited(); {
		if p.ready(dir) {
			return p
		}
		time.Sleep(100 * time.Millisecond)
	}
	must.Do(errors.Join(ctx.Err(), fmt.Errorf("the service did not become ready: %s", p.stop())))
	return nil
}

// ready reads the addresses of the service from the lock file of its data directory, and asks whether it is ready.
func (p *process) ready(dir string) bool {
	h, err := datadir.ReadHolder(dir)
	if err != nil || h.PID != p.cmd.Process.Pid || h.HTTP == "" || h.NATS == "" {
		return false
	}
	p.addr, p.nats, p.token = strings.TrimPrefix(h.HTTP, "http://"), h.NATS, h.Token
	resp, err := http.Get(h.HTTP + "/readyz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
