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

// Headers of a dead letter.
const (
	HeaderReason   = "Jianguo-Reason"   // why, in words
	HeaderField    = "Jianguo-Field"    // the field at fault, if one is
	HeaderSubject  = "Jianguo-Subject"  // the subject it was published on
	HeaderSequence = "Jianguo-Sequence" // its sequence in ITEMS
	HeaderArrived  = "Jianguo-Arrived"  // when ITEMS took it, RFC 3339
)

// bury puts a refused message on the stream DEAD, once however often it is
// delivered.
func (s *Service) bury(ctx context.Context, j *job) error {
	msg := nats.NewMsg(SubjectDead)
	msg.Data = j.msg.Data()
	msg.Header.Set(HeaderReason, headerValue(j.refused.Error()))
	var f *FieldError
	if errors.As(j.refused, &f) {
		msg.Header.Set(HeaderField, f.Field)
	}
	msg.Header.Set(HeaderSubject, j.msg.Subject())
	msg.Header.Set(HeaderSequence, strconv.FormatUint(j.meta.Sequence.Stream, 10))
	msg.Header.Set(HeaderArrived, j.meta.Timestamp.UTC().Format(time.RFC3339Nano))
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

// headerValue makes a text fit for a header: one line, of bounded length.
func headerValue(s string) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r < ' ' {
			r = ' '
		}
		if out = append(out, r); len(out) == 500 {
			break
		}
	}
	return string(out)
}

// DeadLetter is a message that was refused.
type DeadLetter struct {
	Number  uint64    `json:"number"` // its sequence in DEAD
	Reason  string    `json:"reason"`
	Field   string    `json:"field,omitempty"`
	Subject string    `json:"subject"`
	Arrived time.Time `json:"arrived_at"`
	Data    []byte    `json:"-"`
}

// DeadLetters reads the stream DEAD.
type DeadLetters struct {
	js     jetstream.JetStream
	stream jetstream.Stream
}

// OpenDead opens the dead letters of a bus. It makes no stream: where there is
// none, the error wraps jetstream.ErrStreamNotFound.
func OpenDead(ctx context.Context, nc *nats.Conn) (*DeadLetters, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	stream, err := js.Stream(ctx, StreamDead)
	if err != nil {
		return nil, fmt.Errorf("dead letters: stream %s: %w", StreamDead, err)
	}
	return &DeadLetters{js: js, stream: stream}, nil
}

// Len is the number of dead letters kept.
func (d *DeadLetters) Len(ctx context.Context) (uint64, error) {
	info, err := d.stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("dead letters: %w", err)
	}
	return info.State.Msgs, nil
}

// List returns up to limit letters whose number is above after, in order.
func (d *DeadLetters) List(ctx context.Context, after uint64, limit int) ([]DeadLetter, error) {
	info, err := d.stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	var letters []DeadLetter
	for n := max(after+1, info.State.FirstSeq); n <= info.State.LastSeq && len(letters) < limit; n++ {
		l, err := d.Get(ctx, n)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		letters = append(letters, *l)
	}
	return letters, nil
}

// Get returns one letter; the error of a missing one wraps
// jetstream.ErrMsgNotFound.
func (d *DeadLetters) Get(ctx context.Context, number uint64) (*DeadLetter, error) {
	m, err := d.stream.GetMsg(ctx, number)
	if err != nil {
		return nil, fmt.Errorf("dead letter %d: %w", number, err)
	}
	arrived, err := time.Parse(time.RFC3339Nano, m.Header.Get(HeaderArrived))
	if err != nil {
		arrived = m.Time
	}
	return &DeadLetter{Number: number, Reason: m.Header.Get(HeaderReason), Field: m.Header.Get(HeaderField),
		Subject: m.Header.Get(HeaderSubject), Arrived: arrived.UTC(), Data: m.Data}, nil
}

// Replay publishes a letter again on its subject and removes it once the bus
// has it.
func (d *DeadLetters) Replay(ctx context.Context, number uint64) error {
	l, err := d.Get(ctx, number)
	if err != nil {
		return err
	}
	subject := l.Subject
	if subject != SubjectPublish && subject != SubjectWithdraw {
		return fmt.Errorf("dead letter %d: was published on %q, which is not ours to replay", number, subject)
	}
	if _, err := d.js.Publish(ctx, subject, l.Data); err != nil {
		return fmt.Errorf("dead letter %d: %w", number, err)
	}
	return d.Drop(ctx, number)
}

// Drop removes a letter.
func (d *DeadLetters) Drop(ctx context.Context, number uint64) error {
	if err := d.stream.DeleteMsg(ctx, number); err != nil {
		return fmt.Errorf("dead letter %d: %w", number, err)
	}
	return nil
}
