package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/clock"
	"jianguo/internal/streams"
)

// AwaitApplied waits until the service on a bus has applied every item that the bus holds
// now. prefix is that of the names of its streams, service the name of the process that is meant.
func AwaitApplied(ctx context.Context, nc *nats.Conn, prefix, service string) error {
	stream, err := JetStream(nc).Stream(ctx, prefix+StreamItems)
	if err != nil {
		return fmt.Errorf("stream %s: %w", StreamItems, err)
	}
	for last := stream.CachedInfo().State.LastSeq; ; {
		answer, err := nc.RequestWithContext(ctx, SubjectApplied, []byte(service))
		if err != nil {
			return fmt.Errorf("no service answers how many items it has applied: %w", err)
		}
		applied, err := strconv.ParseUint(string(answer.Data), 10, 64)
		if err != nil {
			return fmt.Errorf("how many items are applied: %w", err)
		}
		if applied >= last {
			return nil
		}
		if err := clock.Sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("items %d to %d still wait for their verdicts: %w", applied+1, last, err)
		}
	}
}

// CopyDead copies the dead letters of a bus, whose streams have a prefix, into the directory of an embedded bus that
// is not running.
func CopyDead(ctx context.Context, from *nats.Conn, prefix, dir string) error {
	dead, err := JetStream(from).Stream(ctx, prefix+StreamDead)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	return Offline(dir, func(js jetstream.JetStream) error {
		if _, err := (streams.Plan{}).Ensure(ctx, js, jetstream.StreamConfig{Name: StreamDead,
			Subjects: dead.CachedInfo().Config.Subjects, AllowMsgTTL: true}); err != nil {
			return fmt.Errorf("dead letters: %w", err)
		}
		state := dead.CachedInfo().State
		for number := max(state.FirstSeq, 1); number <= state.LastSeq; number++ {
			m, err := dead.GetMsg(ctx, number)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			if err == nil {
				var rest []jetstream.PublishOpt
				if ttl, unset := time.ParseDuration(m.Header.Get(jetstream.MsgTTLHeader)); unset == nil {
					rest = append(rest, jetstream.WithMsgTTL(max(time.Until(m.Time.Add(ttl)), time.Second)))
				}
				m.Header.Del(jetstream.MsgIDHeader) // letters that were refused days apart may have one id
				_, err = js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}, rest...)
			}
			if err != nil {
				return fmt.Errorf("dead letter %d: %w", number, err)
			}
		}
		return nil
	})
}

// Offline calls f with the streams in the directory of an embedded bus that is not running.
func Offline(dir string, f func(jetstream.JetStream) error) error {
	b, err := Start(Config{Dir: dir})
	if err != nil {
		return err
	}
	defer b.Close()
	nc, err := b.Connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	return f(JetStream(nc))
}
