// Package rig assembles the ingest path for tests of what stands on it: a real
// bus, a real index and the service between them, on a directory of its own.
//
// It stands inside ingest because that is the highest room whose parts all
// such tests share; what is above (HTTP, the console) sets itself on top. The
// tests of ingest itself cannot use it: they are in the package it imports.
package rig

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/nats-io/nats.go"

	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/segment"
	"jianguo/sketch"
)

// Shipped is a segmenter of the shipped tables, loaded once a process.
var Shipped = sync.OnceValue(func() *segment.Segmenter {
	s, err := segment.New(segment.Config{Data: data.FS})
	if err != nil {
		panic(err)
	}
	return s
})

// Config is what a rig is made with. Dir is required; the functions change what
// the parts are opened with.
type Config struct {
	Dir       string
	Segmenter *segment.Segmenter // nil: Shipped
	Bus       func(*ingest.BusConfig)
	Index     func(*index.Config)
	Ingest    func(*ingest.Config)
}

// Rig is the parts of an ingest path. Nothing is taken to a verdict before Run.
type Rig struct {
	Dir       string
	Segmenter *segment.Segmenter
	Bus       *ingest.Bus
	Conn      *nats.Conn
	Index     *index.Index
	Ingest    *ingest.Service
	closers   []func() error
}

// Open opens the parts.
func Open(ctx context.Context, cfg Config) (_ *Rig, err error) {
	r := &Rig{Dir: cfg.Dir, Segmenter: cfg.Segmenter}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if r.Segmenter == nil {
		r.Segmenter = Shipped()
	}
	bc := ingest.BusConfig{Dir: filepath.Join(cfg.Dir, "bus"), Relaxed: true}
	if cfg.Bus != nil {
		cfg.Bus(&bc)
	}
	if r.Bus, err = ingest.StartBus(bc); err != nil {
		return nil, err
	}
	r.OnClose(func() error { r.Bus.Close(); return nil })
	if r.Conn, err = r.Bus.Connect(); err != nil {
		return nil, err
	}
	r.OnClose(func() error { r.Conn.Close(); return nil })
	xc := index.Config{Dir: cfg.Dir, Durability: index.DurabilityRelaxed, Normal: r.normal,
		Recipe: func() (string, error) { return r.Segmenter.Recipe(), nil }}
	if cfg.Index != nil {
		cfg.Index(&xc)
	}
	if r.Index, err = index.Open(ctx, xc); err != nil {
		return nil, err
	}
	r.OnClose(r.Index.Close)
	ic := ingest.Config{Bus: r.Bus, Conn: r.Conn, Index: r.Index, Segmenter: r.Segmenter}
	if cfg.Ingest != nil {
		cfg.Ingest(&ic)
	}
	r.Ingest, err = ingest.New(ctx, ic)
	return r, err
}

// normal is the normal form of a kept text.
func (r *Rig) normal(title, body string) sketch.Input {
	var text segment.Text
	r.Segmenter.Analyze(&text, title, body)
	return ingest.Input(&text)
}

// Run takes items to their verdicts until Close.
func (r *Rig) Run() { r.Background("ingest", r.Ingest.Run) }

// Background runs f until Close, which returns its error.
func (r *Rig) Background(what string, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	r.OnClose(func() error {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	})
}

// OnClose has f called by Close, before what was there already is closed.
func (r *Rig) OnClose(f func() error) { r.closers = append(r.closers, f) }

// Verify is an error that lists what is wrong with the directory.
func (r *Rig) Verify(ctx context.Context) error {
	report, err := r.Index.Verify(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range report.Problems {
		errs = append(errs, fmt.Errorf("verify: %s", p))
	}
	return errors.Join(errs...)
}

// Close takes the parts down in reverse order.
func (r *Rig) Close() error {
	var errs []error
	for i := len(r.closers) - 1; i >= 0; i-- {
		errs = append(errs, r.closers[i]())
	}
	r.closers = nil
	return errors.Join(errs...)
}
