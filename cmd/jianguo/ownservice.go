package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
)

// ownService is a service that runs in this process, for one command.
type ownService struct {
	*service
	stop  context.CancelFunc
	ended chan error // receives how it ended, and is closed
}

// startService starts a service on a directory. Its flags are those that arguments and the environment say; set
// changes them. The command ends with its terminal, but for nohup, and with the reader of its output, in order.
func startService(co *stdio, dir string, args []string, set func(*serveFlags)) (*ownService, error) {
	var flags serveFlags
	if _, err := newParser(&flags).Parse(args); err != nil {
		return nil, err
	}
	set(&flags)
	if !signal.Ignored(syscall.SIGHUP) {
		co.ctx, _ = signal.NotifyContext(co.ctx, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE) // a write fails instead
	s, err := flags.open(co, dir)
	if err != nil {
		return nil, err
	}
	// A signal ends the command, which then ends the service.
	ctx, stop := context.WithCancel(context.WithoutCancel(co.ctx))
	own := &ownService{service: s, stop: stop, ended: make(chan error, 1)}
	go func() {
		own.ended <- s.run(ctx)
		close(own.ended)
	}()
	return own, nil
}

// stopAfter ends the service, if there is one, and waits for its end. It returns err and what went wrong.
func (s *ownService) stopAfter(err error) error {
	if s == nil {
		return err
	}
	s.stop()
	if end := <-s.ended; end != nil {
		err = errors.Join(err, fmt.Errorf("the service that was started: %w", end))
	}
	return err
}
