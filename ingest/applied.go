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

// answerApplied serves bus.SubjectApplied until stop is called.
func (s *Service) answerApplied() (stop func(), err error) {
	sub, err := s.cfg.Conn.Subscribe(bus.SubjectApplied, func(m *nats.Msg) {
		if !bus.MayAnswer(m.Reply) {
			return
		}
		if err := m.Respond(strconv.AppendUint(nil, s.applied.Load(), 10)); err != nil {
			s.log.Warn("answer on items.applied", "error", err)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

// Waiting returns how many messages of ITEMS wait for their verdicts, if the stream ends at last.
func (s *Service) Waiting(last uint64) uint64 { return last - min(last, s.applied.Load()) }

// AwaitApplied waits until the service on a bus has applied every item that the bus holds
// now. prefix is that of the names of its streams.
func AwaitApplied(ctx context.Context, nc *nats.Conn, prefix string) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	stream, err := js.Stream(ctx, prefix+bus.StreamItems)
	if err != nil {
		return fmt.Errorf("ingest: stream %s: %w", bus.StreamItems, err)
	}
	for last := stream.CachedInfo().State.LastSeq; ; {
		answer, err := nc.RequestWithContext(ctx, bus.SubjectApplied, nil)
		if err != nil {
			return fmt.Errorf("ingest: no service answers how many items it has applied: %w", err)
		}
		applied, err := strconv.ParseUint(string(answer.Data), 10, 64)
		if err != nil {
			return fmt.Errorf("ingest: how many items are applied: %w", err)
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
