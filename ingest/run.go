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
			if err == nil || !errors.Is(err, errStreamReplaced) && !errors.Is(err, errConsume) {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errStreamReplaced) {
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

// answerApplied answers requests on bus.SubjectApplied that name this process or none.
func (s *Service) answerApplied(m *nats.Msg) {
	if !bus.MayAnswer(m.Reply) || len(m.Data) > 0 && string(m.Data) != s.cfg.Name {
		return
	}
	if err := m.Respond(strconv.AppendUint(nil, s.applied.Load(), 10)); err != nil {
		s.log.Warn("answer on items.applied", "error", err)
	}
}

// errStreamReplaced says that the stream is gone, or another one. As after errConsume, runOn can be called again.
var errStreamReplaced = errors.New("ingest: the stream of items is gone, or another one")

// runOn processes the messages of the attached stream until ctx is done.
func (s *Service) runOn(ctx context.Context) error {
	s.inFlight = semaphore.NewWeighted(inFlightBytes)
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
	toApply := make(chan *job, 2*s.cfg.Batch)
	toPrepare := make(chan *job, cap(toApply)+2) // sending to it never blocks: see accept
	lost, another := false, false
	g.Go(func() error {
		defer close(toApply)
		defer close(toPrepare)
		defer subscription.Stop()
		defer close(ended)
		lost = s.accept(intake, messages, toPrepare, toApply)
		stop()
		return nil
	})
	for range s.cfg.Workers {
		g.Go(func() error { return s.prepareJobs(failed, toPrepare) })
	}
	until, applied := context.WithCancel(failed)
	g.Go(func() error {
		defer applied()
		return s.applyBatches(failed, toApply)
	})
	g.Go(func() error { return s.outbox.run(failed, until.Done()) })
	g.Go(func() error { s.purge(failed, until); return nil })
	g.Go(func() error {
		_, ended := streams.Watch(failed, until, s.attached, &s.applied, &s.publishing, s.checkStreams)
		another = ended == nil // ITEMS is gone, is another stream, or has lost its end
		stop()
		return nil
	})
	if err := g.Wait(); err != nil || !another && !lost {
		return err
	}
	return errStreamReplaced
}

// accept makes a job of each message, in order, until intake ends, or ITEMS has lost what was accepted: a bus that was
// restored gives the sequences again, maybe more of them than it had lost.
func (s *Service) accept(intake context.Context, messages <-chan jetstream.Msg, toPrepare, toApply chan<- *job) (
	lost bool) {
	last, consumer := s.attachedAt, ""
	for {
		select {
		case <-intake.Done():
			return false
		case m := <-messages:
			if meta, err := m.Metadata(); err == nil { // else prepareJob fails
				if meta.Consumer != consumer && s.hasLost(intake, last) {
					return true
				}
				consumer = meta.Consumer
				last = streams.Point{Seq: meta.Sequence.Stream, Logged: meta.Timestamp.UnixNano()}
			}
			j := &job{msg: m, ready: make(chan struct{}), taken: time.Now(),
				weight: min(int64(len(m.Data())), inFlightBytes)}
			if s.inFlight.Acquire(intake, j.weight) != nil {
				return false
			}
			select {
			case toApply <- j: // every job in toPrepare is in toApply too, except one that applyBatches waits for
				toPrepare <- j
			case <-intake.Done():
				s.inFlight.Release(j.weight)
				return false
			}
		}
	}
}

// hasLost reports whether ITEMS has lost a message that was accepted. It asks until there is an answer, or ctx ends.
func (s *Service) hasLost(ctx context.Context, m streams.Point) bool {
	for {
		seq, err := streams.Behind(ctx, s.items, m)
		if err == nil || clock.Sleep(ctx, time.Second) != nil {
			return seq < m.Seq
		}
	}
}
