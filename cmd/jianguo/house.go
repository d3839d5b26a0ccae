package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/segment"
	"jianguo/sketch"
)

// houseConfig says how to assemble a house.
type houseConfig struct {
	Command    string
	Data       string
	HTTP       string                               // where HTTP is served, to be announced
	NATS       string                               // a bus elsewhere; empty: embedded
	NATSCreds  string                               // file of credentials for it
	NATSListen string                               // of the embedded bus; empty: in-process only
	NATSUsers  func(secret string) (bus.User, bool) // of the embedded bus; nil: everybody
	Gates      []bus.GatedStream                    // of the embedded bus, besides those of ingest
	Reserve    uint64                               // bytes that the embedded bus leaves free
	NoBus      bool                                 // only index and segmenter, for commands that look
	Relaxed    bool
	DropTexts  bool
	Language   string
	Policy     *index.Policy

	SnapshotEvery int64 // 0: the index's default
	Segment       segmentFlags
	// Progress is told how far loading has come, besides the terminal; nil: nobody.
	Progress func(stage string, done, total int64)
	// Loaded is called once the catalogue is, before where to reach the house is
	// announced; nil: nobody waits for it.
	Loaded func() error
}

// house is the parts of the service, wired. Close takes them down in reverse.
type house struct {
	cfg       houseConfig
	log       *slog.Logger
	lock      *datadir.Lock
	bus       *bus.Embedded // nil: elsewhere
	conn      *nats.Conn
	segmenter *segment.Segmenter
	index     *index.Index
	ingest    *ingest.Service
	closers   []func() error
}

func newSegmenter(f segmentFlags) (*segment.Segmenter, error) {
	return segment.New(segment.Config{Data: data.FS, UserDict: f.UserDict, Residue: f.Residue})
}

// openHouse locks the data directory and opens what is in it, the dictionary
// beside the catalogue.
func openHouse(co *streams, cfg houseConfig) (_ *house, err error) {
	h := &house{cfg: cfg, log: co.log}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if h.lock, err = datadir.Acquire(cfg.Data, datadir.Holder{Command: cfg.Command}); err != nil {
		return nil, err
	}
	h.closers = append(h.closers, h.lock.Close)

	type loaded struct {
		segmenter *segment.Segmenter
		err       error
	}
	segmenter := make(chan loaded, 1)
	go func() {
		s, err := newSegmenter(cfg.Segment)
		segmenter <- loaded{s, err}
	}()
	wait := func() (string, error) {
		l := <-segmenter
		h.segmenter = l.segmenter
		if l.err != nil {
			return "", l.err
		}
		return l.segmenter.Recipe(), nil
	}
	durability := index.DurabilitySynced
	if cfg.Relaxed {
		durability = index.DurabilityRelaxed
	}
	if h.index, err = index.Open(co.ctx, index.Config{Dir: cfg.Data, Policy: cfg.Policy, Recipe: wait,
		Normal: h.normal, Language: cfg.Language,
		Durability: durability, SnapshotEvery: cfg.SnapshotEvery, Logger: co.log, Progress: cfg.loading(co)}); err != nil {
		return nil, err
	}
	h.closers = append(h.closers, h.index.Close)
	if cfg.Loaded != nil {
		if err := cfg.Loaded(); err != nil {
			return nil, err
		}
	}
	if cfg.NoBus {
		return h, nil
	}
	return h, h.openBus(co)
}

// loading tells the terminal, and whoever else asked.
func (c *houseConfig) loading(co *streams) func(stage string, done, total int64) {
	screen := co.progress.Stages("loading")
	if c.Progress == nil {
		return screen
	}
	return func(stage string, done, total int64) {
		screen(stage, done, total)
		c.Progress(stage, done, total)
	}
}

// normal is the normal form of a kept text. The segmenter is there before
// anything is judged.
func (h *house) normal(title, body string) sketch.Input {
	var text segment.Text
	h.segmenter.Analyze(&text, title, body)
	return ingest.Input(&text)
}

func (h *house) openBus(co *streams) (err error) {
	if h.cfg.NATS != "" {
		if h.conn, err = bus.Connect(h.cfg.NATS, credentials(h.cfg.NATSCreds)...); err != nil {
			return err
		}
	} else {
		if h.bus, err = bus.Start(bus.Config{Dir: filepath.Join(h.cfg.Data, "bus"), Listen: h.cfg.NATSListen, Relaxed: h.cfg.Relaxed,
			Gates: append(bus.GatedStreams(), h.cfg.Gates...), Reserve: h.cfg.Reserve, Authenticate: h.cfg.NATSUsers, Logger: co.log}); err != nil {
			return err
		}
		h.closers = append(h.closers, func() error { h.bus.Close(); return nil })
		if h.conn, err = h.bus.Connect(); err != nil {
			return err
		}
	}
	h.closers = append(h.closers, func() error { h.conn.Close(); return nil })
	h.ingest, err = ingest.New(co.ctx, ingest.Config{Bus: h.bus, Conn: h.conn, Index: h.index, Segmenter: h.segmenter, Workers: processors(),
		DropTexts: h.cfg.DropTexts, Logger: co.log})
	if err != nil {
		return err
	}
	return h.announce()
}

// announce tells other commands on this directory how to reach the service.
func (h *house) announce() error {
	at := datadir.Holder{PID: os.Getpid(), Command: h.cfg.Command, NATS: h.natsURL(), HTTP: h.cfg.HTTP}
	if h.bus != nil {
		at.Token = h.bus.Secret()
	}
	return h.lock.Announce(at)
}

// natsURL is where other processes find the bus; empty: they cannot.
func (h *house) natsURL() string {
	if h.bus == nil {
		return bus.RedactURL(h.cfg.NATS)
	}
	return h.bus.URL()
}

// Close takes the parts down in reverse order.
func (h *house) Close() error {
	var errs []error
	for i := len(h.closers) - 1; i >= 0; i-- {
		errs = append(errs, h.closers[i]())
	}
	h.closers = nil
	return errors.Join(errs...)
}

// background runs f beside the caller; stop ends it and returns its error.
func background(ctx context.Context, f func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	return func() error {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("ingest: %w", err)
		}
		return nil
	}
}
