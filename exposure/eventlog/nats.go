package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/health"
	"jianguo/internal/must"
	"jianguo/internal/streams"
	"jianguo/internal/wrap"
)

// Config is how the EXPOSURES stream is made. The zero value is usable.
type Config struct {
	// MaxBytes bounds the stream (default 1 GiB). Past half of it, entries that
	// are in the state file are released early; what is left is the backlog, and
	// when that fills the stream, publishers get an error.
	MaxBytes int64
	Kinds    []string // of reports, beside delivered and seen
	// Plan is how the streams of the bus are made.
	Plan streams.Plan
	// Create calls create, which creates or updates the stream (nil: the log calls it).
	Create func(ctx context.Context, stream string, create func() error) error
	// Synced is called by NATS.Synced, for a server that delivers entries before they are
	// durable (nil: the server does not).
	Synced func(ctx context.Context, upTo uint64) error
	// Purgeable returns the sequence before which entries may be removed: at most the one
	// given, 0 for none (nil: the one given).
	Purgeable func(before uint64) uint64
	Clock     func() time.Time // nil: that of the server, which dates the entries
	// Witness is called with the time of each entry that is consumed, if the server has a
	// clock of its own (nil: it has not).
	Witness func(time.Time)
}

// NATS is a Log on a JetStream stream. How durable an acknowledged event is
// depends on the server: with SyncAlways, or behind a gate that syncs before it
// acknowledges, it has been synced. Otherwise the server syncs at intervals.
type NATS struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	cfg    Config
	logger *slog.Logger

	gone    atomic.Bool    // Consume has missed the stream
	trouble health.Trouble // why no event would be taken, by the last check
}

// Open makes sure the stream exists and is as configured.
func Open(ctx context.Context, js jetstream.JetStream, cfg Config, logger *slog.Logger) (*NATS, error) {
	cfg.MaxBytes, logger = cmp.Or(cfg.MaxBytes, 1<<30), cmp.Or(logger, slog.Default())
	if cfg.Create == nil {
		cfg.Create = func(_ context.Context, _ string, create func() error) error { return create() }
	}
	if cfg.Synced == nil {
		cfg.Synced = func(context.Context, uint64) error { return nil }
	}
	if cfg.Purgeable == nil {
		cfg.Purgeable = func(before uint64) uint64 { return before }
	}
	l := &NATS{js: js, cfg: cfg, logger: logger}
	return l, l.create(ctx)
}

func (l *NATS) create(ctx context.Context) error {
	c := jetstream.StreamConfig{
		Name:        StreamName,
		Description: "what users were shown: delivered, seen, un-seen, forgotten",
		Subjects:    Subjects(l.cfg.Kinds...),
		Discard:     jetstream.DiscardNew,
		MaxBytes:    l.cfg.MaxBytes,
		Duplicates:  2 * time.Minute, // of AppendOnce; reports are idempotent, and have no ids
	}
	err := l.cfg.Create(ctx, StreamName, func() error {
		stream, err := l.cfg.Plan.Ensure(ctx, l.js, c)
		if l.stream == nil {
			l.stream = stream // which knows the stream by its name
		}
		return err
	})
	return wrap.Err(err, "exposure")
}

// Append publishes and waits for the stream's acknowledgement.
func (l *NATS) Append(ctx context.Context, subject string, data []byte) (uint64, error) {
	return l.AppendOnce(ctx, "", subject, data)
}

// AppendOnce is Append, unless an event with the same id was appended within the last minutes.
func (l *NATS) AppendOnce(ctx context.Context, id, subject string, data []byte) (uint64, error) {
	if !l.js.Conn().IsConnected() { // the client would send it after it was answered as failed
		return 0, fmt.Errorf("exposure: publish to %s: %w", subject, nats.ErrDisconnected)
	}
	m := &nats.Msg{Subject: subject, Data: data}
	if id != "" {
		m.Header = nats.Header{nats.MsgIdHdr: {id}}
	}
	ack, err := l.js.PublishMsg(ctx, m)
	if err != nil {
		api, ok := errors.AsType[*jetstream.APIError](err)
		if ok && (api.ErrorCode == streams.StoreFailed || streams.NoRoom(api)) {
			return 0, fmt.Errorf("%w (%s)", ErrFull, api.Description)
		}
		return 0, fmt.Errorf("exposure: publish to %s: %w", subject, err)
	}
	return ack.Sequence, nil
}

// State asks the server. It creates the stream if Consume has missed it.
func (l *NATS) State(ctx context.Context) (State, error) {
	if l.gone.Load() {
		if err := l.create(ctx); err != nil {
			return State{}, err
		}
		l.gone.Store(false)
	}
	info, err := l.stream.Info(ctx)
	if err != nil {
		return State{}, fmt.Errorf("exposure: stream %s: %w", StreamName, err)
	}
	return State{streams.Identity(info), info.State.FirstSeq, info.State.LastSeq, info.TimeStamp}, nil
}

// watch checks the stream until it is gone, is not the one of an identity, or ends before what was reached.
func (l *NATS) watch(ctx context.Context, identity string, reached *atomic.Uint64) error {
	check := func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return streams.Check(ctx, l.stream, l.js, SubjectPrefix+"seen", leastRoom)
	}
	gone, err := streams.Watch(ctx, ctx, identity, reached, &l.trouble, check)
	if gone {
		l.gone.Store(true)
	}
	return cmp.Or(err, ErrGone)
}

// leastRoom is the size of an event that must fit.
const leastRoom = 1 << 10

// Ready is nil while the stream takes events, by the last check of Consume.
func (l *NATS) Ready() error { return l.trouble.Err() }

// Behind is streams.Behind.
func (l *NATS) Behind(ctx context.Context, at streams.Point) (uint64, error) {
	seq, err := streams.Behind(ctx, l.stream, at)
	return seq, wrap.Err(err, "exposure")
}

// Consume reads through an ordered consumer, which the client recreates wherever a
// message went missing on the way.
func (l *NATS) Consume(ctx context.Context, after streams.Point, fn func(Entry) error) error {
	return must.Catch(func() { l.consume(ctx, after, nil, fn) })
}

// consume reads entries of these subjects, or all. It panics on errors (must).
func (l *NATS) consume(ctx context.Context, after streams.Point, subjects []string, fn func(Entry) error) {
	cons, err := l.stream.OrderedConsumer(ctx, streams.Ordered(after.Seq+1, subjects...))
	must.Dof(err, "exposure: consume %s", StreamName)
	identity := streams.Identity(l.info(ctx))
	ctx, cancel := context.WithCancelCause(ctx)
	watched, last := make(chan struct{}), new(atomic.Uint64)
	last.Store(after.Seq)
	defer func() { cancel(nil); <-watched }()
	go func() {
		defer close(watched)
		cancel(l.watch(ctx, identity, last))
	}()
	warn := jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { // what a consumer recovers from
		if ctx.Err() == nil {
			l.logger.Warn("exposure: consumer", "stream", StreamName, "err", err)
		}
	})
	cc, err := cons.Consume(func(msg jetstream.Msg) {
		if ctx.Err() != nil {
			return
		}
		meta, err := msg.Metadata()
		if err == nil && meta.Sequence.Consumer == 1 { // of another consumer, on a bus that may have been restored
			if seq, failed := l.Behind(ctx, after); failed != nil || seq < after.Seq {
				err = cmp.Or(failed, ErrGone)
			}
		}
		if err != nil {
			cancel(fmt.Errorf("exposure: consume %s: %w", StreamName, err))
			return
		}
		seq := meta.Sequence.Stream
		if seq <= last.Load() {
			return
		}
		last.Store(seq)
		after = streams.Point{Seq: seq, Logged: meta.Timestamp.UnixNano()}
		if l.cfg.Witness != nil {
			l.cfg.Witness(meta.Timestamp)
		}
		e := Entry{Seq: seq, Subject: msg.Subject(), Data: msg.Data(), Time: meta.Timestamp, Pending: meta.NumPending}
		if err := fn(e); err != nil {
			cancel(err)
		}
	}, jetstream.PullMaxMessages(4096), jetstream.PullHeartbeat(streams.Heartbeat), warn)
	must.Dof(err, "exposure: consume %s", StreamName)
	<-ctx.Done()
	l.remove(ctx, cons, cc)
	if err = context.Cause(ctx); !errors.Is(err, context.Canceled) {
		must.Do(err)
	}
}

// remove ends a consumer and removes it from the bus, where it expires otherwise.
func (l *NATS) remove(ctx context.Context, ended jetstream.Consumer, running jetstream.ConsumeContext) {
	running.Stop()
	<-running.Closed()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if info := ended.CachedInfo(); info != nil {
		_ = l.stream.DeleteConsumer(ctx, info.Name)
	}
}

// Release purges what the state file holds: all of it once the stream is half full, otherwise
// what is older than ErasureDelay. The stream has no age bound of its own: it would also
// remove what has not been flushed.
func (l *NATS) Release(ctx context.Context, upTo uint64) error {
	return must.Catch(func() {
		info := l.info(ctx)
		st := info.State
		if st.Msgs == 0 || upTo < st.FirstSeq {
			return
		}
		if int64(st.Bytes) >= l.cfg.MaxBytes/2 {
			l.purge(ctx, st.FirstSeq, upTo+1)
		}
		if now := l.now(info); now.Sub(st.FirstTime) >= ErasureDelay+ErasureDelay/24 {
			l.erase(ctx, st.FirstSeq, upTo+1, now.Add(-ErasureDelay))
		}
	})
}

// info describes the stream. It and what follows panic on errors (must).
func (l *NATS) info(ctx context.Context) *jetstream.StreamInfo {
	info, err := l.stream.Info(ctx)
	must.Dof(err, "exposure: stream %s", StreamName)
	return info
}

func (l *NATS) now(info *jetstream.StreamInfo) time.Time {
	if l.cfg.Clock != nil {
		return l.cfg.Clock()
	}
	return info.TimeStamp
}

// purge removes the entries [first, before) as far as Config.Purgeable allows.
func (l *NATS) purge(ctx context.Context, first, before uint64) {
	if before = l.cfg.Purgeable(before); before > first {
		must.Dof(l.stream.Purge(ctx, jetstream.WithPurgeSequence(before)), "exposure: purge %s", StreamName)
	}
}

// firstSince is streams.FirstSince.
func (l *NATS) firstSince(ctx context.Context, first, end uint64, before time.Time) uint64 {
	seq, err := streams.FirstSince(ctx, l.stream, first, end, before)
	return must.Get(seq, wrap.Err(err, "exposure"))
}

// erase removes the entries [first, end) that were logged before a time: whole files at once,
// and what remains of them one by one, which rewrites no file.
func (l *NATS) erase(ctx context.Context, first, end uint64, before time.Time) {
	end = l.firstSince(ctx, first, end, before)
	l.purge(ctx, first, end)
	var refused error // an entry that is already gone, or that the server cannot remove
	for seq := max(first, l.info(ctx).State.FirstSeq); seq < end; seq++ {
		err := l.stream.DeleteMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
			refused, err = err, nil
		}
		must.Dof(err, "exposure: erase old entries of %s", StreamName)
	}
	if refused != nil && l.info(ctx).State.FirstSeq < end {
		must.Dof(refused, "exposure: erase old entries of %s", StreamName)
	}
}

// Synced calls Config.Synced.
func (l *NATS) Synced(ctx context.Context, upTo uint64) error { return l.cfg.Synced(ctx, upTo) }

// partSubjects are those of a partition.
func partSubjects(part int) []string {
	subjects := []string{SubjectPrefix + "*." + strconv.Itoa(part)}
	if part == 0 {
		subjects = append(subjects, SubjectPrefix+"*")
	}
	return subjects
}

// Recent is the sequence behind which the entries of the last minute (Replayed) begin, or the one given if that is
// earlier.
func (l *NATS) Recent(ctx context.Context, seq uint64) (uint64, error) {
	return must.Try(func() uint64 {
		info := l.info(ctx)
		if first := info.State.FirstSeq; info.State.Msgs > 0 && seq >= first {
			seq = l.firstSince(ctx, first, seq+1, l.now(info).Add(-Replayed)) - 1
		}
		return seq
	})
}

// ConsumePart is Consume for one partition: the last part of a subject. Partition 0 has the entries without a partition
// as well.
func (l *NATS) ConsumePart(ctx context.Context, part int, after streams.Point, fn func(Entry) error) error {
	return must.Catch(func() { l.consume(ctx, after, partSubjects(part), fn) })
}

// ReleasePart is Release for one partition. The server removes exactly what it is told to.
func (l *NATS) ReleasePart(ctx context.Context, part int, upTo uint64) error {
	return must.Catch(func() {
		info, kept := l.info(ctx), ErasureDelay
		st := info.State
		if st.Msgs == 0 || upTo < st.FirstSeq {
			return
		}
		if int64(st.Bytes) >= l.cfg.MaxBytes/2 {
			kept = Replayed
		}
		end := l.firstSince(ctx, st.FirstSeq, upTo+1, l.now(info).Add(-kept))
		for _, subject := range partSubjects(part) {
			if end > st.FirstSeq {
				err := l.stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(end))
				must.Dof(err, "exposure: purge partition %d of %s", part, StreamName)
			}
		}
	})
}
