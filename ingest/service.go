package ingest

import (
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
	"golang.org/x/sync/semaphore"

	"jianguo/bus"
	"jianguo/index"
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
	DropTexts bool // do not keep bodies
	Logger    *slog.Logger
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

	segmenters segmenters
	edits      sync.Map // chan edited by id, of those who wait here

	texts sync.Pool           // *segment.Text
	room  *semaphore.Weighted // of inFlightBytes; held from intake to commit

	base       atomic.Uint64   // applied sequence = base + stream sequence
	attached   string          // identity of the stream whose messages are applied; of Run
	ending     context.Context // of Run: done when the intake ends
	applied    atomic.Uint64   // sequence in ITEMS of the last message applied; 0: none yet
	trouble    atomic.Pointer[error]
	publishing atomic.Pointer[error] // why the bus would take no item, by the last check
}

// New creates the streams that are missing and returns the service, which does
// nothing until Run.
func New(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Batch == 0 {
		cfg.Batch = 256
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Fail == nil {
		cfg.Fail = func(string) error { return nil }
	}
	s := &Service{cfg: cfg, log: cfg.Logger, metrics: newMetrics()}
	s.texts.New = func() any { return new(segment.Text) }
	var err error
	if s.js, err = jetstream.New(cfg.Conn, jetstream.WithPublishAsyncMaxPending(4096)); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	if s.items, err = bus.EnsureStreams(ctx, s.js, cfg.Bus, cfg.Streams); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	s.outbox = newOutbox(s.js, &s.cfg, s.metrics)
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
	s.attached = identityOf(info)
	base, err := s.cfg.Index.Attach(ctx, s.attached, info.State.LastSeq)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	s.base.Store(base)
	applied, _ := s.cfg.Index.Applied()
	s.applied.Store(applied - base)
	return nil
}

func (s *Service) setTrouble(err error) {
	if err == nil {
		s.trouble.Store(nil)
		return
	}
	s.trouble.Store(&err)
}

// StreamPrefix begins the names of the streams. The Service may be nil.
func (s *Service) StreamPrefix() string {
	if s == nil {
		return ""
	}
	return s.cfg.Streams.Prefix
}

// Check is the verdict an item would get now; nothing is stored.
func (s *Service) Check(ctx context.Context, it *Item) (index.Event, error) {
	text := s.texts.Get().(*segment.Text)
	defer s.texts.Put(text)
	now := time.Now().UTC()
	e, err := s.cfg.Index.Check(ctx, Prepare(s.cfg.Segmenter, text, it), uint32(now.Unix()))
	e.At = now.Truncate(time.Millisecond)
	return e, err
}

// Explain judges a later stored item against an earlier one, by the policy in
// force. The texts of both must have been kept.
func (s *Service) Explain(later, earlier *index.Item, terms int) *Explanation {
	return Explain(s.cfg.Segmenter, s.cfg.Index.Policy(), s.cfg.Index.Language(), stored(later), stored(earlier), terms)
}

// stored is a stored item as it was published.
func stored(it *index.Item) *Item {
	return &Item{ID: it.ID, Title: it.Title, Body: *it.Body, Source: it.Source, URL: it.URL, Published: it.Published, Revision: it.Event.Revision}
}
