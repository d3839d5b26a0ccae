package ingest

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
)

// tellApplied answers those who ask, until stop is called.
func (s *Service) tellApplied() (stop func(), err error) {
	sub, err := s.cfg.Conn.Subscribe(bus.SubjectApplied, func(m *nats.Msg) {
		if !bus.MayAnswer(m.Reply) {
			return
		}
		if err := m.Respond(strconv.AppendUint(nil, s.applied.Load(), 10)); err != nil {
			s.log.Warn("answer to who asked what is applied", "error", err)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

// AwaitApplied waits until every item that the bus holds now has been taken to
// its verdict by whoever does that.
func AwaitApplied(ctx context.Context, nc *nats.Conn) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	stream, err := js.Stream(ctx, bus.StreamItems)
	if err != nil {
		return fmt.Errorf("ingest: stream %s: %w", bus.StreamItems, err)
	}
	for last := stream.CachedInfo().State.LastSeq; ; {
		answer, err := nc.RequestWithContext(ctx, bus.SubjectApplied, nil)
		if err != nil {
			return fmt.Errorf("ingest: nobody says how far items have been taken to their verdicts: %w", err)
		}
		applied, err := strconv.ParseUint(string(answer.Data), 10, 64)
		if err != nil {
			return fmt.Errorf("ingest: how far items have been taken to their verdicts: %w", err)
		}
		if applied >= last {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ingest: items %d to %d still wait for their verdicts: %w", applied+1, last, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
