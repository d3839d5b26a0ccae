package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/internal/streams"
	"jianguo/internal/wrap"
)

// checkStreams returns nil if the bus would take an item now, and what it says of ITEMS if it answers. It creates
// streams of events and dead letters that are gone.
func (s *Service) checkStreams(ctx context.Context) (*jetstream.StreamInfo, error) {
	for _, name := range []string{bus.StreamVerdicts, bus.StreamDead} {
		_, err := s.js.Stream(ctx, s.cfg.Streams.Prefix+name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			s.log.WarnContext(ctx, "a stream is gone, and is created again", "stream", name)
			_, err = bus.EnsureStreams(ctx, s.js, s.cfg.Bus, s.cfg.Streams, name)
			s.outbox.lost.Store(true)
			s.outbox.wake()
		}
		if err != nil {
			return nil, fmt.Errorf("ingest: stream %s: %w", name, err)
		}
	}
	info, err := streams.Check(ctx, s.items, s.js, bus.SubjectPublish, bus.MinPayload)
	return info, wrap.Err(err, "ingest")
}

// Waiting returns how many messages of ITEMS wait for their verdicts, if the stream ends at last.
func (s *Service) Waiting(last uint64) uint64 { return last - min(last, s.applied.Load()) }

// Trouble is why items that were taken wait for their verdicts; nil: they do not.
func (s *Service) Trouble() error { return s.trouble.Err() }

// maxAge is the age from which an item in work is an alarm: the worst text takes half a second.
const maxAge = 30 * time.Second

// age is that of the oldest item in work.
func (s *Service) age() time.Duration {
	if since := s.oldest.Load(); since > 0 {
		return time.Since(time.Unix(0, since))
	}
	return 0
}

// Ready is nil while items are taken and get their verdicts; else it says what prevents it.
func (s *Service) Ready() error {
	if !s.cfg.Conn.IsConnected() {
		return errors.New("ingest: the bus is not connected")
	}
	if err := cmp.Or(s.Trouble(), s.publishing.Err()); err != nil {
		return err
	}
	if age := s.age(); age > maxAge {
		return fmt.Errorf("ingest: the oldest item in work has been for %v", age.Round(time.Second))
	}
	if _, known := s.cfg.Index.Applied(); known < s.outbox.ahead.Load() {
		return fmt.Errorf("ingest: the catalogue has %d of the %d events that another service has published, "+
			"and is catching up", known, s.outbox.ahead.Load())
	}
	return nil
}
