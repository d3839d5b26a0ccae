package main

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/internal/settings"
	"jianguo/segment"
	"jianguo/sketch"
)

// coreConfig configures a core. Data is required.
type coreConfig struct {
	Data         string
	HTTP         string                                     // address of HTTP, for the lock file
	External     externalBus                                // its URL is empty: the embedded one
	Backlog      int64                                      // bytes of items that may wait; 0: the default
	NATSListen   string                                     // of the embedded bus; empty: in-process only
	NATSUsers    func(secret, from string) (bus.User, bool) // of the embedded bus; nil: every client may do everything
	Certificates *certificates                              // of the embedded bus and of HTTP; nil: no TLS
	Gates        []bus.GatedStream                          // of the embedded bus, in addition to ingest's
	Reserve      uint64                                     // bytes of disk that the embedded bus leaves free
	Connections  int                                        // of clients of the embedded bus; 0: the server's default
	Relaxed      bool
	DropTexts    bool
	Language     string
	Policy       *index.Policy

	Clock         func() time.Time // by which data expires; nil: the stream's
	SnapshotEvery int64            // 0: the index's default
	Segment       settings.Segment
	// Progress reports how much of the catalogue is loaded, in addition to the
	// terminal; nil: the terminal only.
	Progress func(stage string, done, total int64)
	// Loaded is called when the catalogue is loaded, before the bus opens; may be nil.
	Loaded func() error
}

// core is what judges: the lock of the data directory, the catalogue, the segmenter, the bus and ingest.
type core struct {
	cfg       coreConfig
	name      string // of this process
	log       *slog.Logger
	lock      *datadir.Lock
	bus       *bus.Embedded // nil: external, or none
	conn      *nats.Conn
	segmenter *segment.Segmenter
	index     *index.Index
	ingest    *ingest.Service
	closers   closers
}

// closers are functions that close parts which were opened one after the other.
type closers []func() error

func (c *closers) add(f func() error) { *c = append(*c, f) }

// close closes the parts in reverse order.
func (c *closers) close() error {
	var errs []error
	for _, f := range slices.Backward(*c) {
		errs = append(errs, f())
	}
	*c = nil
	return errors.Join(errs...)
}

// busWait is how long a start waits for a bus: elections of a cluster take seconds. Tests set less.
var busWait = time.Minute

// openCore locks the data directory and opens the catalogue. The dictionary loads
// at the same time.
func openCore(co *streams, cfg coreConfig) (_ *core, err error) {
	c := &core{cfg: cfg, name: rand.Text(), log: co.log}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.lock, err = datadir.Acquire(cfg.Data, datadir.Holder{Command: "serve"}); err != nil {
		return nil, err
	}
	c.closers.add(c.lock.Close)

	segmenter := make(chan error, 1)
	go func() {
		var err error
		c.segmenter, err = cfg.Segment.Segmenter()
		segmenter <- err
	}()
	recipe := func() (string, error) {
		if err := <-segmenter; err != nil {
			return "", err
		}
		return c.segmenter.Recipe(), nil
	}
	durability := index.DurabilitySynced
	if cfg.Relaxed {
		durability = index.DurabilityRelaxed
	}
	c.index, err = index.Open(co.ctx, index.Config{Dir: cfg.Data, Policy: cfg.Policy, Recipe: recipe, Normal: c.normal, Language: cfg.Language,
		Durability: durability, SnapshotEvery: cfg.SnapshotEvery, Clock: cfg.Clock, Logger: co.log, Progress: cfg.loading(co)})
	if err != nil {
		return nil, err
	}
	c.closers.add(c.index.Close)
	if err := datadir.Record(cfg.Data); err != nil {
		return nil, err
	}
	if cfg.Loaded != nil {
		if err := cfg.Loaded(); err != nil {
			return nil, err
		}
	}
	return c, c.openBus(co)
}

// loading reports progress to the terminal and to cfg.Progress.
func (cfg *coreConfig) loading(co *streams) func(stage string, done, total int64) {
	screen := co.progress.Stages("loading")
	if cfg.Progress == nil {
		return screen
	}
	return func(stage string, done, total int64) {
		screen(stage, done, total)
		cfg.Progress(stage, done, total)
	}
}

// normal is the normal form of a kept text. The segmenter is loaded before anything
// is judged.
func (c *core) normal(title, body string) sketch.Input {
	var text segment.Text
	c.segmenter.Analyze(&text, title, body)
	return ingest.Input(&text)
}

func (c *core) openBus(co *streams) (err error) {
	if err := c.cfg.External.check(); err != nil {
		return err
	}
	if c.cfg.External.NATS != "" {
		if c.conn, err = bus.Connect(c.cfg.External.NATS, c.cfg.External.Options()...); err != nil {
			return err
		}
	} else {
		if c.bus, err = bus.Start(bus.Config{Dir: filepath.Join(c.cfg.Data, "bus"), Listen: c.cfg.NATSListen, Relaxed: c.cfg.Relaxed,
			Gates: append(bus.GatedStreams(), c.cfg.Gates...), Reserve: c.cfg.Reserve, Connections: c.cfg.Connections, Authenticate: c.cfg.NATSUsers, TLS: c.cfg.Certificates.config(), Logger: co.log}); err != nil {
			return err
		}
		c.closers.add(func() error { c.bus.Close(); return nil })
		if c.conn, err = c.bus.Connect(); err != nil {
			return err
		}
	}
	c.closers.add(func() error { c.conn.Close(); return nil })
	return bus.Patiently(co.ctx, co.log, busWait, func() (err error) {
		c.ingest, err = ingest.New(co.ctx, ingest.Config{Name: c.name, Bus: c.bus, Conn: c.conn, Index: c.index, Segmenter: c.segmenter, Workers: processors(),
			Streams: bus.StreamsConfig{Plan: c.plan(), Others: c.cfg.Gates, Bytes: c.cfg.Backlog}, DropTexts: c.cfg.DropTexts, Logger: co.log})
		return err
	})
}

// plan is how the streams of this bus are made, once it is connected.
func (c *core) plan() bus.Plan {
	f := &c.cfg.External
	p := bus.Plan{Prefix: f.StreamPrefix, Replicas: f.Replicas, Keep: f.NATS != "" && !f.CreateStreams}
	if p.Replicas == 0 && c.bus == nil && c.conn.ConnectedClusterName() != "" {
		p.Replicas = 3
	}
	return p
}

// announce writes to the lock file how commands reach this process.
func (c *core) announce() error {
	h := datadir.Holder{PID: os.Getpid(), Command: "serve", Name: c.name, NATS: c.natsURL(), StreamPrefix: c.cfg.External.StreamPrefix, HTTP: c.cfg.HTTP}
	if c.bus != nil {
		h.Token, h.Pin = c.bus.Secret(), c.cfg.Certificates.pin()
	}
	return c.lock.Announce(h)
}

// natsURL is where other processes reach the bus; empty: they cannot.
func (c *core) natsURL() string {
	if c.bus == nil {
		return bus.RedactURL(c.cfg.External.NATS)
	}
	return c.bus.URL()
}

// Close closes the parts in reverse order.
func (c *core) Close() error { return c.closers.close() }
