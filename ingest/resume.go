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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"jianguo/index"
	"jianguo/internal/wrap"
)

// outbox publishes the catalogue's events on VERDICTS, in order, each once. Where no message of
// others is in the stream, the number of an event is its sequence there.
type outbox struct {
	js      jetstream.JetStream
	stream  string
	index   *index.Index
	log     *slog.Logger
	woken   chan struct{}
	foreign prometheus.Counter
	// catchesUp reports whether ITEMS holds everything that the catalogue has not applied. nil: the bus is this
	// process's own, and no other service publishes events on it.
	catchesUp func(ctx context.Context) (bool, error)

	began   uint64        // the last event of the catalogue when this process began
	ahead   atomic.Uint64 // the last event that another service had published when this catalogue was behind
	lost    atomic.Bool   // the stream was created again
	warned  string        // the last warning, empty once events are published; of run
	last    uint64        // sequence of the last message of the stream; of run
	counted uint64        // sequence up to which messages of others are counted; of run
}

// wake announces new events.
func (o *outbox) wake() {
	select {
	case o.woken <- struct{}{}:
	default:
	}
}

// Errors of an outbox; errOtherPublishes says that another service publishes the events.
var (
	errOlderCopy = errors.New("the catalogue is an older copy, and what has arrived since is not in ITEMS any more: " +
		"put a newer backup in its place; or, if no service has a newer one, remove the stream, " +
		"and all events are published again")
	errOtherPublishes = errors.New("another service publishes the events of the same items")
	errDiffers        = errors.New("the catalogue differs from what another service on the same bus has published: " +
		"it judges by another version, policy, dictionary or residue list, or holds what that one does not. " +
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
				o.countForeign(m)
			} else if o.catchesUp != nil {
				if err := o.compare(ctx, number, m.Data); err != nil {
					return 0, err
				}
			}
		}
	}
	o.counted = max(o.counted, o.last)
	if number == 0 && foreign == 0 { // it holds nothing: all of it was removed
		n, _ := strconv.ParseUint(info.Config.Metadata[foreignKey], 10, 64) // 0 where there is none
		number = o.last - min(n, o.last)
	}
	if _, known := o.index.Applied(); number > known && o.catchesUp != nil {
		if yes, err := o.catchesUp(ctx); err != nil {
			return known, err
		} else if yes {
			o.ahead.Store(number)
			return known, errOtherPublishes
		}
	}
	// It may have caught up just now.
	if _, known := o.index.Applied(); number > known {
		return 0, fmt.Errorf("ingest: the stream %s holds events up to %d, the catalogue ends at %d: %w",
			o.stream, number, known, errOlderCopy)
	}
	if foreign == 0 {
		return number, nil
	}
	// Once messages have been removed, only this says by how much sequences are ahead.
	cfg := info.Config
	cfg.Metadata = maps.Clone(cfg.Metadata)
	cfg.Metadata[foreignKey] = strconv.FormatUint(o.last-number, 10)
	_, err = o.js.UpdateStream(ctx, cfg)
	return number, wrap.Err(err, "ingest: stream %s", o.stream)
}

// foreignKey is the metadata of VERDICTS with the number of messages of others.
const foreignKey = "foreign_messages"

// countForeign reports a message of others, once.
func (o *outbox) countForeign(m *jetstream.RawStreamMsg) {
	if m.Sequence > o.counted {
		o.foreign.Inc()
		o.log.Warn("a message in "+o.stream+" is no event: a client published it, or named its subject for an answer",
			"sequence", m.Sequence, "subject", m.Subject)
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

// compare returns errDiffers if the catalogue has another event of a number than another service has published. Their
// reasons and recipes may differ: one of them may be of a newer version.
func (o *outbox) compare(ctx context.Context, number uint64, published []byte) error {
	events, err := o.index.Events(ctx, number-1, 1)
	if err != nil || len(events) == 0 {
		return err
	}
	own := &events[0]
	var e index.Event
	if err := json.Unmarshal(published, &e); err != nil {
		return fmt.Errorf("ingest: event %d cannot be read: %w", own.Number, err)
	}
	if e.Number != own.Number || e.ID != own.ID || e.Revision != own.Revision || e.Verdict != own.Verdict ||
		e.Cause != own.Cause || e.Cluster != own.Cluster || e.Of != own.Of {
		return fmt.Errorf("ingest: event %d says %q is %s in cluster %d, and the catalogue, %q is %s in cluster %d: %w",
			e.Number, e.ID, e.Verdict, e.Cluster, own.ID, own.Verdict, own.Cluster, errDiffers)
	}
	return nil
}
