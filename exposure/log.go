package exposure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Entry is one event as the log holds it.
type Entry struct {
	Seq     uint64
	Subject string
	Data    []byte // valid during the call only
	Time    time.Time
}

// LogState is what a store asks its log when it opens.
type LogState struct {
	ID          string // another ID is another log, whose sequences mean nothing here
	First, Last uint64
}

// Log is the ordered, durable list of events that determines a store's state. Sequences
// grow by one from one. There is one consumer a store.
type Log interface {
	// Append returns once the event is as durable as the log promises, with
	// ErrFull when there is no room; nothing is ever dropped to make room.
	Append(ctx context.Context, subject string, data []byte) (uint64, error)
	State(ctx context.Context) (LogState, error)
	// Consume calls fn with every entry after a sequence, in order and from one
	// goroutine, until the context ends or fn fails. fn may block.
	Consume(ctx context.Context, after uint64, fn func(Entry) error) error
	// Synced returns once every entry that Consume has given, up to a sequence, is as
	// durable as Append promises: before that no file may record that it is applied.
	Synced(ctx context.Context, upTo uint64) error
	// Release says that entries up to a sequence are no longer needed for
	// replay; a log may forget them when it is short of room.
	Release(ctx context.Context, upTo uint64) error
}

// StreamName is the JetStream stream that holds the events.
const StreamName = "EXPOSURES"

// Subjects are all that reports and services of exposures are published on.
const Subjects = subjectPrefix + ">"

// LogSubjects are those of the stream: reports, with their partition or without.
func LogSubjects() (subjects []string) {
	for _, k := range kindNames {
		subjects = append(subjects, subjectPrefix+k, subjectPrefix+k+".*")
	}
	return subjects
}

// DefaultMaxAge is how long an event stays in the log at most, and thereby how long
// after a forget the user's ids may be found there.
const DefaultMaxAge = 24 * time.Hour

// StreamConfig is how the EXPOSURES stream is made. The zero value is usable.
type StreamConfig struct {
	// MaxBytes bounds the stream (default 1 GiB). Past half of it, entries that
	// are in the state file are released early; what is left is the backlog, and
	// when that fills the stream, publishers get an error.
	MaxBytes int64
	// MaxAge is how long an entry stays at most, and thereby how long after a
	// forget a user's ids may still be found on disk (default 24 hours). An owner
	// that is down for longer than this loses what it had not applied.
	MaxAge time.Duration
	// Replicas of the stream (default 1).
	Replicas int
	// Synced implements Log's, for a server that delivers entries before they are durable
	// (nil: it does not). Purgeable returns the sequence before which entries may be
	// removed, at most the one given, 0 for none (nil: the one given).
	Synced    func(ctx context.Context, upTo uint64) error
	Purgeable func(before uint64) uint64
}

// NATSLog is a Log on a JetStream stream. How durable an acknowledged event is
// depends on the server: with SyncAlways, or behind a gate that syncs before it
// acknowledges, it has been synced. Otherwise the server syncs at intervals.
type NATSLog struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	cfg    StreamConfig
	logger *slog.Logger
}

// OpenNATSLog makes sure the stream exists and is as configured.
func OpenNATSLog(ctx context.Context, js jetstream.JetStream, cfg StreamConfig, logger *slog.Logger) (*NATSLog, error) {
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 1 << 30
	}
	if cfg.MaxAge == 0 {
		cfg.MaxAge = DefaultMaxAge
	}
	if logger == nil {
		logger = slog.Default()
	}
	stream, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:        StreamName,
		Description: "what users were shown: delivered, seen, un-seen, forgotten",
		Subjects:    LogSubjects(),
		Discard:     jetstream.DiscardNew,
		Storage:     jetstream.FileStorage,
		MaxBytes:    cfg.MaxBytes,
		MaxAge:      cfg.MaxAge,
		Replicas:    max(cfg.Replicas, 1),
		// Reports are idempotent, so the server need not remember message ids.
		Duplicates: min(time.Second, cfg.MaxAge),
	})
	if err != nil {
		return nil, fmt.Errorf("exposure: stream %s: %w", StreamName, err)
	}
	return &NATSLog{js: js, stream: stream, cfg: cfg, logger: logger}, nil
}

// jsStoreFailed is JetStream's code for a stream that took a message and could
// not keep it: with Discard New, because it is full.
const jsStoreFailed = 10077

// Append publishes and waits for the stream's acknowledgement.
func (l *NATSLog) Append(ctx context.Context, subject string, data []byte) (uint64, error) {
	ack, err := l.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data})
	if err != nil {
		var api *jetstream.APIError
		if errors.As(err, &api) && (api.ErrorCode == jsStoreFailed || api.ErrorCode == 10023 || api.ErrorCode == 10047) {
			return 0, fmt.Errorf("%w (%s)", ErrFull, api.Description)
		}
		return 0, fmt.Errorf("exposure: publish to %s: %w", subject, err)
	}
	return ack.Sequence, nil
}

// State asks the server.
func (l *NATSLog) State(ctx context.Context) (LogState, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return LogState{}, fmt.Errorf("exposure: stream %s: %w", StreamName, err)
	}
	st := LogState{
		ID:    info.Created.UTC().Format(time.RFC3339Nano),
		First: info.State.FirstSeq,
		Last:  info.State.LastSeq,
	}
	return st, nil
}

// heartbeat is how often the bus says that there is nothing new. A bus that was restarted has
// lost its consumers, which shows when two heartbeats are missing.
const heartbeat = time.Second

// Consume reads through an ordered consumer, which the client recreates wherever a
// message went missing on the way.
func (l *NATSLog) Consume(ctx context.Context, after uint64, fn func(Entry) error) error {
	cfg := jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   after + 1,
	}
	cons, err := l.stream.OrderedConsumer(ctx, cfg)
	if err != nil {
		return fmt.Errorf("exposure: consume %s: %w", StreamName, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	last := after
	cc, err := cons.Consume(func(msg jetstream.Msg) {
		if ctx.Err() != nil {
			return
		}
		meta, err := msg.Metadata()
		if err != nil {
			cancel(fmt.Errorf("exposure: consume %s: %w", StreamName, err))
			return
		}
		seq := meta.Sequence.Stream
		if seq <= last {
			return
		}
		last = seq
		if err := fn(Entry{Seq: seq, Subject: msg.Subject(), Data: msg.Data(), Time: meta.Timestamp}); err != nil {
			cancel(err)
		}
	}, jetstream.PullMaxMessages(4096), jetstream.PullHeartbeat(heartbeat), jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		if ctx.Err() == nil {
			l.logger.Warn("exposure: consumer", "stream", StreamName, "err", err)
		}
	}))
	if err != nil {
		return fmt.Errorf("exposure: consume %s: %w", StreamName, err)
	}
	<-ctx.Done()
	cc.Stop()
	<-cc.Closed()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Release purges what the state file holds once the stream is half full.
func (l *NATSLog) Release(ctx context.Context, upTo uint64) error {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("exposure: stream %s: %w", StreamName, err)
	}
	if int64(info.State.Bytes) < l.cfg.MaxBytes/2 || upTo < info.State.FirstSeq {
		return nil
	}
	before := upTo + 1
	if l.cfg.Purgeable != nil {
		before = l.cfg.Purgeable(before)
	}
	if before <= info.State.FirstSeq {
		return nil
	}
	if err := l.stream.Purge(ctx, jetstream.WithPurgeSequence(before)); err != nil {
		return fmt.Errorf("exposure: purge %s: %w", StreamName, err)
	}
	return nil
}

// Synced calls StreamConfig.Synced, if there is one.
func (l *NATSLog) Synced(ctx context.Context, upTo uint64) error {
	if l.cfg.Synced == nil {
		return nil
	}
	return l.cfg.Synced(ctx, upTo)
}
