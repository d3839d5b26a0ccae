package streams

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/clock"
	"jianguo/internal/health"
)

// Heartbeat is how often the bus tells a consumer that there is nothing new. A bus that was restarted or
// reopened has lost its consumers, which shows when two heartbeats are missing.
const Heartbeat = time.Second

// Ordered is a consumer of the messages from a sequence on, of these subjects or all. When it is lost, the client makes
// another one, but tries only once under each name: a cluster may have placed that on a server that has just ended, and
// then answers no request for the name until the server is back.
func Ordered(from uint64, subjects ...string) jetstream.OrderedConsumerConfig {
	return jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
		FilterSubjects: subjects, MaxResetAttempts: 1,
		// A bus bounds the consumers of a stream, and keeps one whose process was killed for so long.
		InactiveThreshold: 30 * time.Second}
}

const (
	watchEvery    = time.Second
	watchPatience = 2 * time.Second // for the bus to answer
	goneChecks    = 3               // in a row must not find a stream before it is created again
)

// Identity tells a stream from another of the same name.
func Identity(info *jetstream.StreamInfo) string {
	return info.Created.UTC().Format(time.RFC3339Nano)
}

// Watch checks a stream until it is gone, or is another one than that of an identity, or ends before the sequence that
// was reached: a bus that was restored from a backup gives that sequence again. It returns an error only when until
// ends; ctx is for the calls. trouble holds the error of the last check.
func Watch(ctx, until context.Context, identity string, reached *atomic.Uint64, trouble *health.Trouble,
	check func(context.Context) (*jetstream.StreamInfo, error)) (gone bool, err error) {
	for missed := 0; missed < goneChecks; {
		if err := clock.Sleep(until, watchEvery); err != nil {
			return false, err
		}
		attempt, cancel := context.WithTimeout(ctx, watchPatience)
		least := reached.Load()
		info, err := check(attempt)
		cancel()
		trouble.Set(err)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			missed++
		case info != nil && (Identity(info) != identity || info.State.LastSeq < least):
			return false, nil
		default:
			missed = 0
		}
	}
	return true, nil
}
