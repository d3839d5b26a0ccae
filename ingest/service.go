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

	"jianguo/index"
	"jianguo/segment"
	"jianguo/sketch"
)

// Subjects and streams of the wire.
const (
	SubjectPublish  = "items.publish"
	SubjectWithdraw = "items.withdraw"
	SubjectDead     = "items.dead"
	SubjectVerdicts = "verdicts." // + the verdict's name

	StreamItems    = "ITEMS"
	StreamVerdicts = "VERDICTS"
	StreamDead     = "DEAD"

	consumerName = "ingest"
)

// HeaderReply names the subject that the Outcome of a message goes to, if MayAnswer
// says so.
const HeaderReply = "Jianguo-Reply"

// Config configures a Service. Conn, Index and Segmenter are required.
type Config struct {
	Conn      *nats.Conn
	Bus       *Bus // that Conn is of; nil: it is elsewhere
	Index     *index.Index
	Segmenter *segment.Segmenter
	Workers   int   // goroutines that segment; 0: one a processor. Fewer than GOMAXPROCS keep the way to the bus short
	Batch     int   // messages a transaction, at most; 0: 256
	Replicas  int   // of the streams; 0: 1
	Bytes     int64 // of ITEMS before publishers are refused; 0: 4 GiB
	DropTexts bool  // do not keep bodies
	// Retries is how often a message that made the segmenter panic is tried
	// before it goes to the dead letters; 0: 3.
	Retries int
	Logger  *slog.Logger
	// Fail, where set, is called at named points; an error stops the service
	// there as a crash would. For tests.
	Fail func(point string) error
}

// Outcome is what a publisher that set HeaderReply gets.
type Outcome struct {
	Seq     uint64       `json:"seq"`
	Changed bool         `json:"changed"`         // false: nothing new; Event is the stored verdict
	Event   *index.Event `json:"event,omitempty"` // nil where Error is set
	Error   string       `json:"error,omitempty"` // why it is a dead letter
	Field   string       `json:"field,omitempty"`
}

// Service runs the ingest path.
type Service struct {
	cfg     Config
	log     *slog.Logger
	js      jetstream.JetStream
	items   jetstream.Stream
	metrics *metrics
	outbox  *outbox

	texts sync.Pool           // *segment.Text
	room  *semaphore.Weighted // of inFlightBytes; held from intake to commit

	base    atomic.Uint64   // applied sequence = base + stream sequence
	ending  context.Context // of Run: done when it takes no more
	applied atomic.Uint64   // sequence in ITEMS of the last message applied; 0: none yet
	trouble atomic.Pointer[error]
}

// New makes sure that the streams exist and returns the service, which does
// nothing until Run.
func New(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Batch == 0 {
		cfg.Batch = 256
	}
	if cfg.Replicas == 0 {
		cfg.Replicas = 1
	}
	if cfg.Bytes == 0 {
		cfg.Bytes = 4 << 30
	}
	if cfg.Retries == 0 {
		cfg.Retries = 3
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
	if err := s.ensureStreams(ctx); err != nil {
		return nil, err
	}
	s.outbox = newOutbox(s.js, cfg.Index, s.log)
	return s, nil
}

// ensureStreams creates or updates the streams, and opens their gates.
func (s *Service) ensureStreams(ctx context.Context) error {
	persist := jetstream.DefaultPersistMode
	if s.cfg.Replicas == 1 {
		// Events are already durable in the catalogue: what a power failure
		// takes off the end of VERDICTS is published again.
		persist = jetstream.AsyncPersistMode
	}
	for _, c := range []jetstream.StreamConfig{
		{Name: StreamItems, Subjects: []string{SubjectPublish, SubjectWithdraw}, Discard: jetstream.DiscardNew, MaxBytes: s.cfg.Bytes,
			AllowAtomicPublish: true, Description: "items on their way to a verdict; removed once applied"},
		{Name: StreamVerdicts, Subjects: []string{SubjectVerdicts + ">"}, MaxBytes: 1 << 30, PersistMode: persist, AllowDirect: true,
			Description: "events, numbered by their sequence; old ones are forgotten here, never by the catalogue"},
		{Name: StreamDead, Subjects: deadSubjects, MaxBytes: 1 << 30, AllowDirect: true, AllowMsgTTL: true,
			Description: "messages that were refused, with the reason in their headers"},
	} {
		c.Replicas, c.Storage = s.cfg.Replicas, jetstream.FileStorage
		stream, err := s.js.CreateOrUpdateStream(ctx, c)
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
			return fmt.Errorf("ingest: stream %s: the bus has no JetStream, or not for this account: enable it there: %w", c.Name, err)
		}
		if err != nil {
			return fmt.Errorf("ingest: stream %s: %w", c.Name, err)
		}
		if c.Name == StreamItems {
			s.items = stream
		}
	}
	if s.cfg.Bus == nil {
		return nil
	}
	for _, c := range GatedStreams() {
		if err := s.cfg.Bus.Gate(ctx, c.Name); err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
	}
	return nil
}

// attach tells the index which stream its messages come from.
func (s *Service) attach(ctx context.Context) error {
	info, err := s.items.Info(ctx)
	if err != nil {
		return fmt.Errorf("ingest: stream %s: %w", StreamItems, err)
	}
	base, err := s.cfg.Index.Attach(ctx, info.Created.UTC().Format(time.RFC3339Nano), info.State.LastSeq)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	s.base.Store(base)
	return nil
}

// Ready is nil while items are being taken to their verdicts; else it says
// what stands in the way.
func (s *Service) Ready() error {
	if p := s.trouble.Load(); p != nil {
		return *p
	}
	if !s.cfg.Conn.IsConnected() {
		return errors.New("ingest: the bus is not connected")
	}
	return nil
}

func (s *Service) setTrouble(err error) {
	if err == nil {
		s.trouble.Store(nil)
		return
	}
	s.trouble.Store(&err)
}

// Prepare makes of an item what the index wants. The result refers to text,
// whose next use changes it.
func Prepare(seg *segment.Segmenter, text *segment.Text, it *Item) *index.Article {
	a := &index.Article{ID: it.ID, Revision: it.Revision, Title: it.Title, Source: it.Source, URL: it.URL}
	if it.Published != nil {
		a.Published = *it.Published
	}
	seg.Analyze(text, it.Title, it.Body)
	a.Exact, a.Blank, a.Print = text.Exact, text.Blank, Fingerprint(text)
	a.Text = Input(text)
	a.Text.Published = sketch.Day(a.Published)
	a.Sketch = sketch.Make(a.Text)
	return a
}

// Input is what a sketch is made from.
func Input(text *segment.Text) sketch.Input {
	return sketch.Input{Title: text.Title, Body: text.Body, Names: text.Names}
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

// Submit publishes one payload and waits for its outcome; see Publisher.Submit.
func Submit(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, subject string, payload []byte) (*Outcome, error) {
	return (&Publisher{conn: nc, js: js}).Submit(ctx, subject, payload)
}
