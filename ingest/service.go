package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/semaphore"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/internal/health"
	"jianguo/internal/streams"
	"jianguo/segment"
)

// Config configures a Service. Conn, Index and Segmenter are required.
type Config struct {
	Name      string // of this process, among others on the bus; empty: it is alone
	Conn      *nats.Conn
	Bus       *bus.Embedded // the bus of Conn; nil: it is external
	Index     *index.Index
	Segmenter *segment.Segmenter
	Workers   int // goroutines that segment; 0: GOMAXPROCS. With fewer, messages of the bus wait less
	Batch     int // messages a transaction, at most; 0: 256
	Streams   bus.StreamsConfig
	Logger    *slog.Logger
	Metrics   prometheus.Registerer // nil: they are not shown
	// Fail, if set, is called at named points; an error stops the service
	// there as a crash would. For tests.
	Fail func(point string) error
}

// Service runs the ingest path.
type Service struct {
	cfg     Config
	log     *slog.Logger
	js      jetstream.JetStream
	items   jetstream.Stream
	metrics *metrics
	outbox  *outbox

	edits sync.Map // chan editResult by id: calls of Edit that wait

	inFlight *semaphore.Weighted // of inFlightBytes; held from intake to commit

	base       atomic.Uint64   // applied sequence = base + stream sequence
	attached   string          // identity of the stream whose messages are applied; of Run
	attachedAt streams.Point   // the last message applied then; of Run
	history    []mark          // what was applied, a minute apart, the oldest first; of purge
	ending     context.Context // of Run: done when the intake ends
	applied    atomic.Uint64   // sequence in ITEMS of the last message applied; 0: none yet
	oldest     atomic.Int64    // when the oldest message in work was taken from the bus, in ns since 1970; 0: none
	trouble    health.Trouble  // why items that were taken wait
	publishing health.Trouble  // why the bus would take no item, by the last check
}

// New creates the streams that are missing and returns the service, which does
// nothing until Run.
func New(ctx context.Context, cfg Config) (*Service, error) {
	cfg.Workers, cfg.Batch = cmp.Or(cfg.Workers, runtime.GOMAXPROCS(0)), cmp.Or(cfg.Batch, 256)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Fail == nil {
		cfg.Fail = func(string) error { return nil }
	}
	s := &Service{cfg: cfg, log: cfg.Logger}
	var err error
	if s.js, err = jetstream.New(cfg.Conn, jetstream.WithPublishAsyncMaxPending(4096)); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	if s.items, err = bus.EnsureStreams(ctx, s.js, cfg.Bus, cfg.Streams); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	s.metrics = newMetrics(s)
	_, began := cfg.Index.Applied()
	s.outbox = &outbox{js: s.js, stream: cfg.Streams.Prefix + bus.StreamVerdicts, index: cfg.Index, log: cfg.Logger,
		woken: make(chan struct{}, 1), foreign: s.metrics.foreign, began: began}
	if cfg.Bus == nil {
		s.outbox.catchesUp = func(ctx context.Context) (bool, error) {
			info, err := s.items.Info(ctx)
			if err != nil {
				return false, fmt.Errorf("ingest: stream %s: %w", bus.StreamItems, err)
			}
			return info.State.FirstSeq <= s.applied.Load()+1 && info.State.LastSeq > s.applied.Load(), nil
		}
	}
	return s, nil
}

// attach tells the index which stream its messages come from.
func (s *Service) attach(ctx context.Context) error {
	info, err := s.items.Info(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) { // deleted since New
		if s.items, err = bus.EnsureStreams(ctx, s.js, s.cfg.Bus, s.cfg.Streams); err == nil {
			info, err = s.items.Info(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("ingest: stream %s: %w", bus.StreamItems, err)
	}
	s.attached = streams.Identity(info)
	s.attachedAt = streams.Point{}
	base, err := s.cfg.Index.Attach(ctx, s.attached, func(seq, logged uint64) (uint64, error) {
		s.attachedAt.Logged = int64(logged)
		return streams.Behind(ctx, s.items, streams.Point{Seq: seq, Logged: int64(logged)})
	})
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	s.base.Store(base)
	applied, _ := s.cfg.Index.Applied()
	s.applied.Store(applied - base)
	s.attachedAt.Seq = applied - base
	return nil
}

// deliver sends the messages of a stream from a sequence on to messages, until ended is closed.
//
// An ordered consumer never skips or reorders. (A durable consumer would deliver late what was
// lost on the way, behind messages that came after it: too late for an index that applies messages
// in order.)
func deliver(ctx context.Context, stream jetstream.Stream, from uint64, messages chan<- jetstream.Msg,
	ended <-chan struct{}, options ...jetstream.PullConsumeOpt) (jetstream.ConsumeContext, error) {
	consumer, err := stream.OrderedConsumer(ctx, streams.Ordered(from))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConsume, err)
	}
	subscription, err := consumer.Consume(func(m jetstream.Msg) {
		select {
		case messages <- m:
		case <-ended: // it will be delivered again, as will all after it
		}
	}, append(options, jetstream.PullHeartbeat(streams.Heartbeat))...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConsume, err)
	}
	return subscription, nil
}

// consumeErrors logs what happens to a consumer.
func consumeErrors(ctx context.Context, log *slog.Logger, level slog.Level) jetstream.PullConsumeOpt {
	return jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		log.Log(ctx, level, "consumer", "error", err)
	})
}

// errConsume says that the bus gives no consumer of a stream.
var errConsume = errors.New("ingest: consumer")

// StreamPrefix begins the names of the streams.
func (s *Service) StreamPrefix() string { return s.cfg.Streams.Prefix }

// Check is the verdict an item would get now; nothing is stored.
func (s *Service) Check(ctx context.Context, it *Item) (index.Event, error) {
	now := time.Now().UTC()
	if ctx.Err() != nil {
		return index.Event{}, ctx.Err() // the client has left while it waited
	}
	a := Prepare(s.cfg.Segmenter, it)
	if err := refuseLong(a); err != nil {
		return index.Event{}, err
	}
	e, err := s.cfg.Index.Check(ctx, a, uint32(now.Unix()))
	e.At = now.Truncate(time.Millisecond)
	return e, err
}

// Explain judges a later stored item against an earlier one, by the policy in
// force for its source. The texts of both must have been kept.
func (s *Service) Explain(later, earlier *index.Item) *Explanation {
	x := s.cfg.Index
	return Explain(s.cfg.Segmenter, x.PolicyOf(later.Source), x.Language(), Stored(later), Stored(earlier))
}

// Stored is a stored item, whose text was kept, as it was published.
func Stored(it *index.Item) *Item {
	return &Item{ID: it.ID, Title: it.Title, Body: *it.Body, Source: it.Source, URL: it.URL,
		Published: it.Published, Revision: it.Event.Revision}
}

// closed reports whether a channel that nothing is sent to is closed.
func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// metrics are the ingest path's own.
type metrics struct {
	latency prometheus.Histogram
	batch   prometheus.Histogram
	stage   *prometheus.HistogramVec
	dead    prometheus.Counter
	retries prometheus.Counter
	pending prometheus.Gauge
	foreign prometheus.Counter
}

func newMetrics(s *Service) *metrics {
	auto := promauto.With(s.cfg.Metrics)
	auto.NewGaugeFunc(prometheus.GaugeOpts{Name: "jianguo_ingest_oldest_seconds",
		Help: "Age of the oldest item in work."}, func() float64 { return s.age().Seconds() })
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	histogram := func(name, help string, from float64, buckets int) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(from, 2, buckets)}
	}
	return &metrics{
		latency: auto.NewHistogram(histogram("jianguo_ingest_latency_seconds",
			"From the bus taking an item to its verdict being durable.", 0.001, 16)),
		batch: auto.NewHistogram(histogram("jianguo_ingest_batch_items", "Messages in one transaction.", 1, 10)),
		stage: auto.NewHistogramVec(histogram("jianguo_ingest_stage_seconds",
			"Time a message spends being prepared, a batch being applied.", 0.0001, 16), []string{"stage"}),
		dead:    counter("jianguo_ingest_dead_letters_total", "Messages refused."),
		retries: counter("jianguo_ingest_retries_total", "Batches that could not be written at first."),
		foreign: counter("jianguo_ingest_foreign_messages_total",
			"Messages in VERDICTS that are no events: a client published them, or named a subject of events for an "+
				"answer."),
		pending: auto.NewGauge(prometheus.GaugeOpts{Name: "jianguo_ingest_pending_messages",
			Help: "Messages on the bus behind the last batch."}),
	}
}
