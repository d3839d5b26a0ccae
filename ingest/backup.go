package ingest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// SubjectApplied is where one asks the service for the sequence in ITEMS of the last
// message that it has applied.
const SubjectApplied = "items.applied"

// tellApplied answers those who ask, until stop is called.
func (s *Service) tellApplied() (stop func(), err error) {
	sub, err := s.cfg.Conn.Subscribe(SubjectApplied, func(m *nats.Msg) {
		if !MayAnswer(m.Reply) {
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
	stream, err := js.Stream(ctx, StreamItems)
	if err != nil {
		return fmt.Errorf("ingest: stream %s: %w", StreamItems, err)
	}
	for last := stream.CachedInfo().State.LastSeq; ; {
		answer, err := nc.RequestWithContext(ctx, SubjectApplied, nil)
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

// CopyDead copies the dead letters of a bus into the files of an embedded one,
// which must not run, and returns how many there are.
func CopyDead(ctx context.Context, from *nats.Conn, dir string) (n int, err error) {
	dead, err := OpenDead(ctx, from)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	bus, err := StartBus(BusConfig{Dir: dir})
	if err != nil {
		return 0, err
	}
	defer bus.Close()
	nc, err := bus.Connect()
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, err
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: StreamDead, Subjects: deadSubjects, AllowMsgTTL: true}); err != nil {
		return 0, fmt.Errorf("dead letters: %w", err)
	}
	info, err := dead.stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("dead letters: %w", err)
	}
	for number := info.State.FirstSeq; number <= info.State.LastSeq; number++ {
		m, err := dead.stream.GetMsg(ctx, number)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err == nil {
			_, err = js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
		}
		if err != nil {
			return n, fmt.Errorf("dead letter %d: %w", number, err)
		}
		n++
	}
	return n, nil
}
