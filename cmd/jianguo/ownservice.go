package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"jianguo/internal/datadir"
)

// ownService is a service that runs in this process, for one command.
type ownService struct {
	*service
	stop  context.CancelFunc
	ended chan error // receives how it ended, and is closed
}

// startService starts a service on a directory. Its flags are those that arguments and the environment say; set may
// change them.
func startService(co *streams, dir string, args []string, set func(*serveFlags)) (*ownService, error) {
	var flags serveFlags
	if _, err := newParser(&flags).Parse(args); err != nil {
		return nil, err
	}
	if set != nil {
		set(&flags)
	}
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

// judging are the flags of a service that judges.
type judging struct {
	Language string `help:"Language of reasons, ${enum}." enum:"zh,en" default:"zh"`
	policyFlags
	segmentFlags
}

func (j *judging) apply(f *serveFlags) {
	f.Language, f.policyFlags, f.segmentFlags = j.Language, j.policyFlags, j.segmentFlags
}

// connect connects to the bus of a running service. Where none runs on the data directory, one is started, with the
// flags as set changes them; done ends it.
func connect(co *streams, f *reachFlags, set func(*serveFlags)) (conn *nats.Conn, done func() error, err error) {
	if err := f.choose(); err != nil {
		return nil, nil, err
	}
	if f.NATS == "" && f.Data == "" {
		return nil, nil, errors.New("where? give --data DIR, or --nats URL of a running service")
	}
	var own *ownService
	if f.NATS == "" {
		if !datadir.InUse(f.Data) {
			own, err = startService(co, f.Data, []string{"--listen=127.0.0.1:0", "--nats-listen=127.0.0.1:0"}, set)
			if err != nil {
				return nil, nil, err
			}
		}
		holder, err := datadir.ReadHolder(f.Data)
		if err != nil || holder.NATS == "" {
			return nil, nil, own.stopAfter(errors.Join(err, &datadir.InUseError{Dir: f.Data, Holder: holder}))
		}
		f.use(holder)
	}
	if conn, err = f.connect(&co.ctx, co.log); err != nil {
		return nil, nil, own.stopAfter(err)
	}
	return conn, func() error { conn.Close(); return own.stopAfter(nil) }, nil
}
