package ingest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"jianguo/bus"
)

const (
	consumerName = "ingest-"
	// inFlightBytes bounds the payloads between intake and commit. They take about ten
	// times that in memory while they are worked on. A single message always fits.
	inFlightBytes = 32 << 20
	// heartbeat is how often the bus reports that there is nothing new. A reopened bus has
	// forgotten its consumers; two missing heartbeats show that.
	heartbeat = time.Second
)

// Run takes items to their verdicts until ctx is done and finishes the messages it has
// accepted. It returns nil after an orderly end. When ITEMS is deleted or replaced, it goes on
// with another stream, which it creates if there is none.
func (s *Service) Run(ctx context.Context) error {
	stopAnswers, err := s.answerApplied()
	if err != nil {
		return err
	}
	defer stopAnswers()
	stopSegmenters, err := s.serveSegmenters()
	if err != nil {
		return err
	}
	defer stopSegmenters()
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
		s.publishing.Store(&err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// What runOn returns when it can be called again: the stream is gone or another one, or the
// bus gives no consumer of it.
var (
	errAnother = errors.New("ingest: the stream of items is gone, or another one")
	errConsume = errors.New("ingest: consumer")
)

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
	subscription, err := s.consume(ctx, messages, ended)
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
	s.segmenters.ahead = 0
	for range s.cfg.Workers {
		g.Go(func() error { return s.prepareJobs(failed, g, work) })
	}
	done := make(chan struct{})
	g.Go(func() error {
		defer close(done)
		return s.applyBatches(failed, order)
	})
	g.Go(func() error { return s.outbox.run(failed, done) })
	another := false
	g.Go(func() error {
		another = s.watch(failed, done)
		stop()
		return nil
	})
	if err := g.Wait(); err != nil || !another {
		return err
	}
	return errAnother
}

// consume sends the messages after the last one applied to messages, until ended is closed.
//
// The position is the index's, written in the same transaction as its effects. An ordered
// consumer starts there and never skips or reorders. (A durable consumer would deliver late
// what was lost on the way, behind messages that came after it: too late for an index that
// applies messages in order.)
func (s *Service) consume(ctx context.Context, messages chan<- jetstream.Msg, ended <-chan struct{}) (jetstream.ConsumeContext, error) {
	consumer, err := s.items.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: s.applied.Load() + 1,
		// An external bus keeps the consumer of the process before for a while.
		NamePrefix: consumerName + rand.Text(), InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConsume, err)
	}
	subscription, err := consumer.Consume(func(m jetstream.Msg) {
		select {
		case messages <- m:
		case <-ended: // it will be delivered again, as will all after it
		}
	}, jetstream.PullMaxMessages(2*s.cfg.Batch), jetstream.PullHeartbeat(heartbeat),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { s.log.WarnContext(ctx, "item consumer", "error", err) }))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConsume, err)
	}
	return subscription, nil
}

// accept hands messages on as they come, until intake ends.
func (s *Service) accept(intake context.Context, messages <-chan jetstream.Msg, work, order chan<- *job) {
	for {
		select {
		case <-intake.Done():
			return
		case m := <-messages:
			j := &job{msg: m, ready: make(chan struct{}), weight: min(int64(len(m.Data())), inFlightBytes)}
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
