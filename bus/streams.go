package bus

import (
	"cmp"
	"context"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/streams"
)

// GatedStreams are the streams of this package whose messages must be durable when they
// are acknowledged. VERDICTS is not among them: what it loses is published again.
func GatedStreams() []GatedStream {
	return []GatedStream{
		{Name: StreamItems, Subjects: itemsSubjects},
		{Name: StreamDead, Subjects: deadSubjects, Always: true},
	}
}

// Plan is how the streams of a bus are made.
type Plan = streams.Plan

// StreamsConfig configures the streams of items. The zero value is usable.
type StreamsConfig struct {
	// Others are streams of this service that it creates later; they are checked with the rest,
	// so that a bus with a stream of another application is left as it is.
	Others []GatedStream
	Plan
	Bytes int64 // of ITEMS before publishers are refused; 0: 4 GiB
}

// EnsureStreams creates or updates ITEMS, VERDICTS and DEAD with the gates that the bus has
// for them, or only those named, and returns ITEMS. A nil bus is an external one, which has
// no gates.
func EnsureStreams(ctx context.Context, js jetstream.JetStream, b *Embedded, cfg StreamsConfig, only ...string) (
	items jetstream.Stream, err error) {
	cfg.Bytes = cmp.Or(cfg.Bytes, 4<<30)
	all := []jetstream.StreamConfig{
		// Events are already durable in the catalogue: what a power failure takes off the end of
		// VERDICTS is published again.
		{Name: StreamVerdicts, Subjects: []string{SubjectVerdicts + ">"}, MaxBytes: 1 << 30,
			PersistMode: jetstream.AsyncPersistMode, AllowDirect: true,
			Description: "events in the order of their numbers; old ones are forgotten here, never by the catalogue"},
		{Name: StreamDead, Subjects: deadSubjects, MaxBytes: 1 << 30, AllowDirect: true, AllowMsgTTL: true,
			Description: "messages that were refused, with the reason in their headers"},
		{Name: StreamItems, Subjects: itemsSubjects, MaxBytes: cfg.Bytes,
			Discard: jetstream.DiscardNew, AllowAtomicPublish: true,
			Description: "items on their way to a verdict; applied ones are removed by whole files"},
	}
	others := cfg.Others
	for _, c := range all {
		others = append(others, GatedStream{Name: c.Name, Subjects: c.Subjects})
	}
	for _, c := range others {
		if _, err := streams.Owned(ctx, js, cfg.Prefix+c.Name); err != nil {
			return nil, err
		}
		if err := streams.Free(ctx, js, cfg.Prefix+c.Name, c.Subjects); err != nil {
			return nil, err
		}
	}
	for _, c := range all {
		if len(only) > 0 && !slices.Contains(only, c.Name) {
			continue
		}
		err = b.Create(ctx, cfg.Prefix+c.Name, func() error {
			items, err = cfg.Ensure(ctx, js, c)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return items, nil
}

// Subjects and streams of the wire.
const (
	SubjectPublish   = "items.publish" // SubjectPublish.SOURCE: of that source and no other
	SubjectWithdraw  = "items.withdraw"
	SubjectEdit      = "items.edit"     // what people change, from a service to itself and others like it
	SubjectCheck     = "items.check"    // request-reply: the verdict an item would get
	SubjectApplied   = "items.applied"  // request-reply: the sequence in ITEMS of the last message applied
	SubjectClaims    = "console.claims" // which row of the queue an editor looks at, between services
	SubjectJudging   = "items.judging"  // request-reply: how a service judges
	SubjectReindex   = "index.reindex"  // request-reply: the running service reindexes, and answers at the end
	SubjectDead      = "items.dead"
	SubjectVerdicts  = "verdicts."        // + the verdict's name
	SubjectSilenced  = "sources.silenced" // nearly all articles of a source are rejected today
	SubjectExposures = "exposures."       // reports and services of exposures

	StreamItems    = "ITEMS"
	StreamVerdicts = "VERDICTS"
	StreamDead     = "DEAD"
)

// HeaderReply names the subject that the outcome of a message goes to, if MayAnswer
// permits it.
const HeaderReply = "Jianguo-Reply"

var itemsSubjects = []string{SubjectPublish, SubjectPublish + ".*", SubjectWithdraw, SubjectEdit}

var deadSubjects = []string{SubjectDead, SubjectDead + ".user.*"}
