package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"jianguo/bus"
	"jianguo/index"
)

// outbox publishes the catalogue's events on VERDICTS, in order, each once. Where no message of
// others is in the stream, the number of an event is its sequence there.
type outbox struct {
	js      jetstream.JetStream
	stream  string
	index   *index.Index
	log     *slog.Logger
	kick    chan struct{}
	foreign prometheus.Counter
	// catchesUp reports whether ITEMS holds everything that the catalogue has not applied. nil: the bus is this
	// process's own, and nobody else publishes events on it.
	catchesUp func(ctx context.Context) (bool, error)

	began   uint64        // the last event of the catalogue when this process began
	ahead   atomic.Uint64 // the last event that another service had published when this catalogue was behind
	lost    atomic.Bool   // the stream was created again
	last    uint64        // sequence of the last message of the stream; of run
	counted uint64        // sequence up to which messages of others are counted; of run
}

func newOutbox(js jetstream.JetStream, cfg *Config, m *metrics) *outbox {
	_, began := cfg.Index.Applied()
	return &outbox{began: began, js: js, stream: cfg.Streams.Prefix + bus.StreamVerdicts, index: cfg.Index, log: cfg.Logger, kick: make(chan struct{}, 1), foreign: m.foreign}
}

// wake announces new events.
func (o *outbox) wake() {
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

// run publishes until done is closed and nothing is left, or ctx ends.
func (o *outbox) run(ctx context.Context, done <-chan struct{}) error {
	after, err := o.begin(ctx)
	if errors.Is(err, errPutBack) || errors.Is(err, errDiffers) {
		return err
	}
	for {
		n := 0
		if errors.Is(err, errOthers) {
			if after, err = o.follow(ctx, done, after); errors.Is(err, errDiffers) {
				return err
			}
			select {
			case <-done:
				return nil // what is not published is in the catalogue
			default:
			}
		}
		if o.lost.Swap(false) {
			after, err = o.resume(ctx)
		}
		if err == nil {
			n, err = o.publish(ctx, after)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			o.warn(ctx, after, err)
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
				return nil
			}
			after, err = o.resumeAfter(ctx, after+uint64(n))
			if errors.Is(err, errDiffers) {
				return err
			}
			select {
			case <-done:
				// An orderly end does not wait for a bus that is gone: the
				// events are in the catalogue.
				return nil
			default:
			}
		case n > 0:
			after += uint64(n)
		default:
			select {
			case <-o.kick:
			case <-o.index.Decided():
			case <-done:
				if _, last := o.index.Applied(); last == after {
					return nil
				}
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// Errors of an outbox; errOthers says that another service publishes the events.
var (
	errPutBack = errors.New("the catalogue is an older copy, and what has arrived since is not in ITEMS any more: put a newer backup in its place; " +
		"or, if no service has a newer one, remove the stream, and all events are published again")
	errOthers  = errors.New("another service publishes the events of the same items")
	errDiffers = errors.New("the catalogue differs from what another service on the same bus has published: it judges by another version, policy, dictionary or residue list, or holds what that one does not. " +
		"Start it with the same, on a backup of the other's data directory")
)

// resume returns the number of the last event that VERDICTS holds. The end of the stream may be
// messages of others: on an external bus, JetStream itself answers on the subject that a
// publisher names, and that may be one of this stream.
func (o *outbox) resume(ctx context.Context) (uint64, error) {
	stream, err := o.js.Stream(ctx, o.stream)
	if err != nil {
		return 0, fmt.Errorf("ingest: stream %s: %w", o.stream, err)
	}
	info := stream.CachedInfo()
	o.last = info.State.LastSeq
	number, foreign := uint64(0), uint64(0)
	for seq := o.last; seq >= max(info.State.FirstSeq, 1) && number == 0; seq-- {
		m, err := stream.GetMsg(ctx, seq)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			if err := removed(ctx, stream, seq); err != nil {
				return 0, err
			}
		case err != nil:
			return 0, fmt.Errorf("ingest: message %d of %s: %w", seq, o.stream, err)
		default:
			if number = EventNumber(m.Header, m.Data); number == 0 {
				foreign++
				o.note(m)
			} else if err := o.compareLast(ctx, number, m.Data); err != nil {
				return 0, err
			}
		}
	}
	o.counted = max(o.counted, o.last)
	if number == 0 && foreign == 0 { // it holds nothing: all of it was removed
		n, _ := strconv.ParseUint(info.Config.Metadata[foreignKey], 10, 64) // 0 where there is none
		number = o.last - min(n, o.last)
	}
	if _, known := o.index.Applied(); number > known {
		if o.catchesUp != nil {
			if yes, err := o.catchesUp(ctx); err != nil {
				return known, err
			} else if yes {
				o.ahead.Store(number)
				return known, errOthers
			}
		}
	}
	// It may have caught up just now.
	if _, known := o.index.Applied(); number > known {
		return 0, fmt.Errorf("ingest: the stream %s holds events up to %d, the catalogue ends at %d: %w", o.stream, number, known, errPutBack)
	}
	if foreign == 0 {
		return number, nil
	}
	// Once messages have been removed, only this says by how much sequences are ahead.
	cfg := info.Config
	cfg.Metadata = maps.Clone(cfg.Metadata)
	cfg.Metadata[foreignKey] = strconv.FormatUint(o.last-number, 10)
	if _, err := o.js.UpdateStream(ctx, cfg); err != nil {
		return 0, fmt.Errorf("ingest: stream %s: %w", o.stream, err)
	}
	return number, nil
}

// foreignKey is the metadata of VERDICTS with the number of messages of others.
const foreignKey = "foreign_messages"

// note reports a message of others, once.
func (o *outbox) note(m *jetstream.RawStreamMsg) {
	if m.Sequence > o.counted {
		o.foreign.Inc()
		o.log.Warn("a message in "+o.stream+" is no event: a client published it, or named its subject for an answer", "sequence", m.Sequence, "subject", m.Subject)
	}
}

// EventNumber is the number of the event in a message of VERDICTS; 0: it is none. An event was
// published with the sequence that it expected.
func EventNumber(h nats.Header, data []byte) uint64 {
	var e struct {
		Number uint64 `json:"event"`
	}
	if h.Get(jetstream.ExpectedLastSeqHeader) == "" || json.Unmarshal(data, &e) != nil {
		return 0
	}
	return e.Number
}

// wrongLastSequence is JetStream's error code for a message that is not the next one.
const wrongLastSequence jetstream.ErrorCode = 10071

// removed returns an error unless a message has been removed. A server of a cluster that answers may not have
// it yet: to take the one before for the last would publish an event twice.
func removed(ctx context.Context, stream jetstream.Stream, seq uint64) error {
	info, err := stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return fmt.Errorf("ingest: stream %s: %w", stream.CachedInfo().Config.Name, err)
	}
	if seq >= info.State.FirstSeq && !slices.Contains(info.State.Deleted, seq) {
		return fmt.Errorf("ingest: message %d of %s is not everywhere yet", seq, info.Config.Name)
	}
	return nil
}

// outboxBatch is how many events are in flight at once.
const outboxBatch = 512

// outboxPatience is how long they may take. A stream that is closed meanwhile (to reopen
// it, or on an external bus) accepts messages without an answer.
const outboxPatience = 10 * time.Second

// publish sends the next events and returns how many VERDICTS has stored.
func (o *outbox) publish(ctx context.Context, after uint64) (int, error) {
	events, err := o.index.Events(ctx, after, outboxBatch)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	futures := make([]jetstream.PubAckFuture, len(events))
	for i := range events {
		e, last := &events[i], o.last+uint64(i)
		data, err := json.Marshal(e)
		if err != nil {
			return 0, fmt.Errorf("event %d: %w", e.Number, err)
		}
		futures[i], err = o.js.PublishAsync(bus.SubjectVerdicts+e.Verdict.String(), data, jetstream.WithExpectLastSequence(last))
		if err != nil {
			return 0, fmt.Errorf("event %d: %w", e.Number, err)
		}
	}
	late := time.NewTimer(outboxPatience)
	defer late.Stop()
	for i, f := range futures {
		select {
		case <-late.C:
			return i, fmt.Errorf("event %d: no acknowledgement of it for %v", events[i].Number, outboxPatience)
		case ack := <-f.Ok():
			if o.last++; ack.Sequence != o.last {
				return i, fmt.Errorf("event %d became message %d of %s", events[i].Number, ack.Sequence, o.stream)
			}
		case err := <-f.Err():
			return i, fmt.Errorf("event %d: %w", events[i].Number, err)
		case <-ctx.Done():
			return i, ctx.Err()
		}
	}
	return len(events), nil
}
