package ingest

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/internal/wait"
)

// keepApplied is how long applied messages stay on an external bus, for other services that take them, unless the stream
// is a quarter full.
const keepApplied = time.Hour

// purger removes applied messages from ITEMS in the background, many at once, whether or
// not more messages come: a full stream accepts none.
type purger struct {
	stream  jetstream.Stream
	bus     *bus.Embedded // nil: external
	log     *slog.Logger
	applied *atomic.Uint64 // sequence of the last message applied; 0: none yet
	past    []past         // a minute apart, the oldest first; of run
}

// past is what had been applied at a time.
type past struct {
	at      time.Time
	applied uint64
}

const purgeEvery = time.Second

// run purges until the end of until; ctx is for the calls.
func (p *purger) run(ctx, until context.Context) {
	var seen, purged uint64
	for wait.For(until, purgeEvery) == nil {
		applied := p.applied.Load()
		if p.bus == nil {
			applied = p.spared(ctx, applied)
		}
		if applied == seen || p.bus.Full() {
			continue
		}
		// A purge leaves the sequence it names.
		if before := p.bus.Purgeable(bus.StreamItems, applied+1); before > purged {
			if err := p.stream.Purge(ctx, jetstream.WithPurgeSequence(before)); err != nil {
				p.log.WarnContext(ctx, "purge of applied items", "error", err)
				continue
			}
			purged = before
		}
		seen = applied
	}
}

// spared is how far an external bus may be purged.
func (p *purger) spared(ctx context.Context, applied uint64) uint64 {
	now := time.Now()
	if n := len(p.past); n == 0 || now.Sub(p.past[n-1].at) >= time.Minute {
		p.past = append(p.past, past{now, applied})
	}
	for len(p.past) > 1 && now.Sub(p.past[1].at) >= keepApplied {
		p.past = p.past[1:]
	}
	info, err := p.stream.Info(ctx)
	if err == nil && int64(info.State.Bytes) > info.Config.MaxBytes/4 {
		return applied
	}
	if now.Sub(p.past[0].at) < keepApplied {
		return 0
	}
	return p.past[0].applied
}
