package ingest

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
)

// purger removes applied messages from ITEMS in the background, many at once, whether or
// not more messages come: a full stream accepts none.
type purger struct {
	stream  jetstream.Stream
	bus     *bus.Embedded // nil: external
	log     *slog.Logger
	applied *atomic.Uint64 // sequence of the last message applied; 0: none yet
}

const purgeEvery = time.Second

func (p *purger) run(ctx context.Context, done <-chan struct{}) {
	tick := time.NewTicker(purgeEvery)
	defer tick.Stop()
	var seen, purged uint64
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		applied := p.applied.Load()
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
