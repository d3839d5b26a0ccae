package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"jianguo/bus"
	"jianguo/internal/clock"
	"jianguo/internal/streams"
)

// inFlightBytes bounds the payloads between intake and commit. They take about ten
// times that in memory while they are worked on. A single message always fits.
const inFlightBytes = 32 << 20

// Run takes items to their verdicts until ctx is done and finishes the messages it has
// accepted. It returns nil after an orderly end. When ITEMS is deleted or replaced, it goes on
// with another stream, which it creates if there is none.
func (s *Service) Run(ctx context.Context) error {
	sub, err := s.cfg.Conn.Subscribe(bus.SubjectApplied, s.answerApplied)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	for began := false; ; {
		err := s.attach(ctx)
		if err == nil {
			err = s.runOn(ctx)
			if err == nil || !errors.Is(err, errAnother) && !errors.Is(err, errConsume) {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errAnother) {
			s.log.WarnContext(ctx, "the stream of items is gone or another one; going on with that", "was", s.attached)
			began = true
			continue
		}
		if !began && !bus.Away(err) {
			return err
		}
		s.publishing.Set(err)
		if clock.Sleep(ctx, time.Second) != nil {
			return nil
		}
	}
}

// answerApplied answers on bus.SubjectApplied, to all and to those who name this process.
func (s *Service) answerApplied(m *nats.Msg) {
	if !bus.MayAnswer(m.Reply) || len(m.Data) > 0 && string(m.Data) != s.cfg.Name {
		return
	}
	if err := m.Respond(strconv.AppendUint(nil, s.applied.Load(), 10)); err != nil {
		s.log.Warn("answer on items.applied", "error", err)
	}
}

// errAnother says that runOn can be called again, as does errConsume: the stream is gone or
// another one.
var errAnother = errors.New("ingest: the stream of items is gone, or another one")

// runOn processes the messages of the attached stream until ctx is done.
func (s *Service) runOn(ctx context.Context) error {
	s.room = semaphore.NewWeighted(inFlightBytes)
	// The pipeline's own context ends with the first error of any part; the
	// caller's ends the intake, and the parts behind it finish their work.
	g, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	intake, stop := context.WithCancel(ctx)
	defer stop()
	s.ending = intake
	context.AfterFunc(failed, stop)
	messages, ended := make(chan jetstream.Msg, 1), make(chan struct{})
	// The position is the index's, written in the same transaction as its effects.
	subscription, err := deliver(ctx, s.items, s.applied.Load()+1, messages, ended,
		jetstream.PullMaxMessages(2*s.cfg.Batch), consumeErrors(ctx, s.log, slog.LevelWarn))
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	// A message goes to the workers and, in order, to applyBatches: two batches' worth
	// is in flight at most.
	order := make(chan *job, 2*s.cfg.Batch)
	work := make(chan *job, cap(order)+2) // sending to it never blocks: see accept
	g.Go(func() error {
		defer close(order)
		defer close(work)
		defer subscription.Stop()
		defer close(ended)
		s.accept(intake, messages, work, order)
		return nil
	})
	for range s.cfg.Workers {
		g.Go(func() error { return s.prepareJobs(failed, work) })
	}
	until, applied := context.WithCancel(failed)
	g.Go(func() error {
		defer applied()
		return s.applyBatches(failed, order)
	})
	g.Go(func() error { return s.outbox.run(failed, until.Done()) })
	g.Go(func() error { s.purge(failed, until); return nil })
	another := false
	g.Go(func() error {
		_, ended := streams.Watch(failed, until, s.attached, &s.applied, &s.publishing, s.check)
		another = ended == nil // ITEMS is gone, is another stream, or has lost its end
		stop()
		return nil
	})
	if err := g.Wait(); err != nil || !another {
		return err
	}
	return errAnother
}

// accept hands messages on as they come, until intake ends.
func (s *Service) accept(intake context.Context, messages <-chan jetstream.Msg, work, order chan<- *job) {
	for {
		select {
		case <-intake.Done():
			return
		case m := <-messages:
			j := &job{msg: m, ready: make(chan struct{}), taken: time.Now(),
				weight: min(int64(len(m.Data())), inFlightBytes)}
			if s.room.Acquire(intake, j.weight) != nil {
				return
			}
			select {
			case order <- j: // every job in work is in order too, except one that waits to be applied
				work <- j
			case <-intake.Done():
				s.room.Release(j.weight)
				return
			}
		}
	}
}
