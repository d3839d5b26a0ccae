package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
)

// bury stores a refused message in the stream DEAD, once however often it is
// delivered.
func (s *Service) bury(ctx context.Context, j *job) error {
	r := bus.Refused{Subject: j.msg.Subject(), Data: j.msg.Data(), Sequence: j.meta.Sequence.Stream, Arrived: j.meta.Timestamp, Reason: j.refused.Error()}
	if f, ok := errors.AsType[*FieldError](j.refused); ok {
		r.Field = f.Field
	}
	msg := r.Message(bus.SubjectDead, s.js.Conn().MaxPayload())
	id := fmt.Sprintf("%d", j.mutation.Seq)
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		_, err := s.js.PublishMsg(ctx, msg, jetstream.WithMsgID(id))
		if err == nil {
			s.metrics.dead.Inc()
			s.log.WarnContext(ctx, "dead letter", "sequence", j.meta.Sequence.Stream, "reason", j.refused)
			return nil
		}
		s.setTrouble(fmt.Errorf("ingest: items wait for the dead letter stream: %w", err))
		s.log.ErrorContext(ctx, "dead letter not stored, trying again", "sequence", j.meta.Sequence.Stream, "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}
