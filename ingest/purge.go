package ingest

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/internal/clock"
)

// keepApplied is how long applied messages stay on an external bus, for other services that take them, unless the
// stream is a quarter full.
const keepApplied = time.Hour

// mark is the last sequence in ITEMS that had been applied at a time.
type mark struct {
	at      time.Time
	applied uint64
}

const purgeEvery = time.Second

// purge removes applied messages from ITEMS, many at once, whether or not more messages come: a full stream accepts
// none. It ends with until; ctx is for the calls.
func (s *Service) purge(ctx, until context.Context) {
	var seen, purged uint64
	s.history = nil // it may be of another stream
	for clock.Sleep(until, purgeEvery) == nil {
		applied := s.applied.Load()
		if s.cfg.Bus == nil {
			applied = s.purgeable(ctx, applied)
		}
		if applied == seen || s.cfg.Bus.Full() {
			continue
		}
		// A purge leaves the sequence it names.
		if before := s.cfg.Bus.Purgeable(bus.StreamItems, applied+1); before > purged {
			if err := s.items.Purge(ctx, jetstream.WithPurgeSequence(before)); err != nil {
				s.log.WarnContext(ctx, "purge of applied items", "error", err)
				continue
			}
			purged = before
		}
		seen = applied
	}
}

// purgeable returns the last sequence that an external bus may purge; 0: none yet.
func (s *Service) purgeable(ctx context.Context, applied uint64) uint64 {
	now := time.Now()
	if n := len(s.history); n == 0 || now.Sub(s.history[n-1].at) >= time.Minute {
		s.history = append(s.history, mark{now, applied})
	}
	for len(s.history) > 1 && now.Sub(s.history[1].at) >= keepApplied {
		s.history = s.history[1:]
	}
	info, err := s.items.Info(ctx)
	if err == nil && int64(info.State.Bytes) > info.Config.MaxBytes/4 {
		return applied
	}
	if now.Sub(s.history[0].at) < keepApplied {
		return 0
	}
	return s.history[0].applied
}
