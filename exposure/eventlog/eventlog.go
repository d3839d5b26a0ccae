// Package eventlog is the log of the events that determine users' histories: what a log promises
// (Log), a log on a JetStream stream (NATS), and how far one has been applied (Applied). It does not decode the events.
package eventlog

import (
	"context"
	"errors"
	"time"

	"jianguo/internal/streams"
)

// ErrFull is what Append returns when there is no room.
var ErrFull = errors.New("exposure: the event log is full, report again later")

// ErrGone is what Consume returns when the log is deleted, or is another one than at its
// beginning, or has lost its end. The next State creates it if need be.
var ErrGone = errors.New("exposure: the event log is gone, or another one")

// Entry is one event as the log holds it.
type Entry struct {
	Seq     uint64
	Subject string
	Data    []byte // valid during the call only
	Time    time.Time
	Pending uint64 // entries behind this one that the consumer is still to be given
}

// State is what a store asks its log when it opens.
type State struct {
	ID          string // another ID is another log, whose sequences mean nothing here
	First, Last uint64
	Now         time.Time // by the clock that dates the entries
}

// Log is the ordered, durable list of events that determines a store's state. Sequences
// grow by one from one. There is one consumer a store.
type Log interface {
	// Append returns once the event is as durable as the log promises, with
	// ErrFull when there is no room; nothing is ever dropped to make room.
	Append(ctx context.Context, subject string, data []byte) (uint64, error)
	State(ctx context.Context) (State, error)
	// Behind is where to go on after an entry: its sequence or, where the log has lost its end, that of the last entry
	// up to it that was not logged later. An entry that is no longer there counts as unchanged.
	Behind(ctx context.Context, at streams.Point) (uint64, error)
	// Consume calls fn with every entry after one, in order and from one
	// goroutine, until the context ends, fn fails, or the log is gone or has lost its end. fn may block.
	Consume(ctx context.Context, after streams.Point, fn func(Entry) error) error
	// Synced returns once every entry that Consume has given, up to a sequence, is as
	// durable as Append promises: before that no file may record that it is applied.
	Synced(ctx context.Context, upTo uint64) error
	// Release says that entries up to a sequence are no longer needed for replay. A log
	// forgets those that are older than ErasureDelay, others when it is short of room, and
	// none that was not released.
	Release(ctx context.Context, upTo uint64) error
}

// Replayed is how far back an owner of a partition that begins applies the log again.
const Replayed = time.Minute

// StreamName is the JetStream stream that holds the events.
const StreamName = "EXPOSURES"

// SubjectPrefix begins every subject of the stream. A kind follows, and then a partition or
// nothing.
const SubjectPrefix = "exposures."

// Subjects are those of the stream: each kind, with a partition and without. More kinds of reports may be given.
func Subjects(more ...string) (subjects []string) {
	for _, k := range append([]string{"delivered", "seen", "unsee", "forget", "imported", "link", "unlink"}, more...) {
		subjects = append(subjects, SubjectPrefix+k, SubjectPrefix+k+".*")
	}
	return subjects
}

// ErasureDelay is how long an event stays in the stream after it was logged, and thereby how
// long after a forget the user's ids may be found there: up to an hour longer, and always
// until the owner has said by Release that it needs the event no more.
const ErasureDelay = 24 * time.Hour
