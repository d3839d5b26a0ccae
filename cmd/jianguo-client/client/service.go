package client

import (
	"bufio"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"syscall"

	"jianguo/internal/beside"
	"jianguo/internal/companion"
)

// service is a `jianguo serve` that runs for a command.
type service struct {
	HTTP    string // URL
	process *exec.Cmd
	ended   chan error // receives how it ended, and is closed
}

// greeting is the line that a service prints when it can be reached.
var greeting = regexp.MustCompile(`^jianguo \S+: (https?://\S+)  bus .*  data .*  durability `)

// start starts a service on a directory, with further arguments, and waits until it can be reached. What it prints
// otherwise goes to standard error. It does not outlive this process.
func start(co *companion.Streams, dir string, args []string) (*service, error) {
	path, err := beside.Program("jianguo")
	if err != nil {
		return nil, err
	}
	s := &service{process: exec.Command(path, append([]string{"serve", "--data=" + dir}, args...)...), ended: make(chan error, 1)}
	// A signal of the terminal is for this process, which then ends the service.
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	printed, err := s.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	started, ready := make(chan error), make(chan error, 2)
	go func() {
		runtime.LockOSThread() // the kernel ends the service when the thread that started it ends
		err := s.process.Start()
		if started <- err; err != nil {
			return
		}
		lines := bufio.NewReader(printed)
		for {
			line, err := lines.ReadString('\n')
			if m := greeting.FindStringSubmatch(line); m != nil && s.HTTP == "" {
				s.HTTP = m[1]
				ready <- nil
			} else {
				fmt.Fprint(co.Err, line)
			}
			if err != nil {
				break
			}
		}
		err = s.process.Wait()
		s.ended <- err
		close(s.ended)
		ready <- errors.Join(err, companion.ErrPrinted)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	select {
	case err := <-ready:
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			err = companion.ErrPrinted // it has said why
		}
		if err != nil {
			return nil, err
		}
		return s, nil
	case <-co.Ctx.Done():
		return nil, s.stopAfter(co.Ctx.Err())
	}
}

// stopAfter ends the service, if there is one, and waits for its end. It returns err and what went wrong.
func (s *service) stopAfter(err error) error {
	if s == nil {
		return err
	}
	_ = s.process.Process.Signal(syscall.SIGTERM) // it may have ended
	if end := <-s.ended; end != nil {
		err = errors.Join(err, fmt.Errorf("the service that was started: %w", end))
	}
	return err
}
