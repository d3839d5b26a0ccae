package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// GatedStreams are the streams of this package whose messages must be durable when they
// are acknowledged. VERDICTS is not among them: what it loses is published again.
func GatedStreams() []GatedStream {
	return []GatedStream{
		{Name: StreamItems, Subjects: []string{SubjectPublish, SubjectWithdraw}},
		{Name: StreamDead, Subjects: deadSubjects, Always: true},
	}
}

// StreamsConfig configures the streams of items. The zero value is usable.
type StreamsConfig struct {
	Replicas int   // of each stream; 0: 1
	Bytes    int64 // of ITEMS before publishers are refused; 0: 4 GiB
}

// EnsureStreams creates or updates ITEMS, VERDICTS and DEAD, opens the gates that the
// bus has for them, and returns ITEMS. A nil bus is an external one, which has no gates.
func EnsureStreams(ctx context.Context, js jetstream.JetStream, b *Embedded, cfg StreamsConfig) (items jetstream.Stream, err error) {
	if cfg.Replicas == 0 {
		cfg.Replicas = 1
	}
	if cfg.Bytes == 0 {
		cfg.Bytes = 4 << 30
	}
	persist := jetstream.DefaultPersistMode
	if cfg.Replicas == 1 {
		// Events are already durable in the catalogue: what a power failure
		// takes off the end of VERDICTS is published again.
		persist = jetstream.AsyncPersistMode
	}
	for _, c := range []jetstream.StreamConfig{
		{Name: StreamVerdicts, Subjects: []string{SubjectVerdicts + ">"}, MaxBytes: 1 << 30, PersistMode: persist, AllowDirect: true,
			Description: "events, numbered by their sequence; old ones are forgotten here, never by the catalogue"},
		{Name: StreamDead, Subjects: deadSubjects, MaxBytes: 1 << 30, AllowDirect: true, AllowMsgTTL: true,
			Description: "messages that were refused, with the reason in their headers"},
		{Name: StreamItems, Subjects: []string{SubjectPublish, SubjectWithdraw}, Discard: jetstream.DiscardNew, MaxBytes: cfg.Bytes,
			AllowAtomicPublish: true, Description: "items on their way to a verdict; removed once applied"},
	} {
		c.Replicas, c.Storage = cfg.Replicas, jetstream.FileStorage
		items, err = js.CreateOrUpdateStream(ctx, c)
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
			return nil, fmt.Errorf("stream %s: the bus has no JetStream, or not for this account: enable it there: %w", c.Name, err)
		}
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", c.Name, err)
		}
	}
	for _, c := range GatedStreams() {
		if err := b.Gate(ctx, c.Name); err != nil {
			return nil, err
		}
	}
	return items, nil
}
