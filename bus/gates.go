package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"jianguo/bus/gate"
)

// GatedStream is a stream that a gate stands before.
type GatedStream struct {
	Name     string
	Subjects []string // all of the stream's
	// Always takes messages however little of the disk is free: those that stand
	// in the way of others.
	Always bool
}

// GatedStreams are the streams of this package whose messages must be durable when they
// are acknowledged. VERDICTS is not among them: what it loses is published again.
func GatedStreams() []GatedStream {
	return []GatedStream{
		{Name: StreamItems, Subjects: []string{SubjectPublish, SubjectWithdraw}},
		{Name: StreamDead, Subjects: deadSubjects, Always: true},
	}
}

// gates are those that stand before streams of a bus.
type gates struct {
	streams []GatedStream // none: JetStream syncs, or nobody does
	out     string        // subject that they publish on, with the public one behind it; nobody else knows it
	dir     string        // with a directory for each stream
	log     *slog.Logger
	fail    func(point string) error

	mu   sync.RWMutex
	open map[string]*gate.Gate // by stream; under mu
}

func newGates(cfg *Config) *gates {
	g := &gates{out: "_gate.out." + rand.Text() + ".", log: cfg.Logger, fail: cfg.Fail, open: map[string]*gate.Gate{},
		dir: filepath.Join(cfg.Dir, server.JetStreamStoreDir, "$G", "streams")}
	if !cfg.Relaxed {
		g.streams = cfg.Gates
	}
	return g
}

// readyGates maps subjects before anybody can publish on them, and repairs what a
// failed sync has left.
func (b *Embedded) readyGates() error {
	account := b.server.GlobalAccount()
	for _, stream := range b.gates.streams {
		if err := gate.Repair(filepath.Join(b.gates.dir, stream.Name)); err != nil {
			return fmt.Errorf("bus: stream %s: %w", stream.Name, err)
		}
		for _, s := range stream.Subjects {
			err := account.AddMapping(b.gates.out+s, numbered(s))
			if err == nil {
				err = account.AddMapping(s, gate.Prefix+numbered(s))
			}
			if err != nil {
				return fmt.Errorf("bus: gate of %s: subject %s: %w", stream.Name, s, err)
			}
		}
	}
	return nil
}

// ErrBroken is in the chain of an error of Synced that no waiting will mend: a sync failed.
var ErrBroken = gate.ErrBroken

// Gate opens the gate before a stream that there is now. A bus without gates, relaxed
// or not, has none to open.
func (b *Embedded) Gate(ctx context.Context, stream string) error {
	if b == nil || len(b.gates.streams) == 0 {
		return nil
	}
	i := slices.IndexFunc(b.gates.streams, func(s GatedStream) bool { return s.Name == stream })
	if i < 0 {
		return fmt.Errorf("bus: stream %s has no gate", stream)
	}
	if err := b.fitForGate(ctx, stream); err != nil {
		return fmt.Errorf("bus: gate of %s: %w", stream, err)
	}
	room := b.hasRoom
	if b.gates.streams[i].Always {
		room = nil
	}
	g, err := gate.Open(gate.Config{Dial: func() (net.Conn, error) { return b.server.InProcessConn() }, Secret: b.secret,
		Stream: stream, Dir: filepath.Join(b.gates.dir, stream), Subjects: b.gates.streams[i].Subjects, Out: b.gates.out,
		Room: room, Logger: b.gates.log, Fail: b.gates.fail})
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	b.gates.mu.Lock()
	defer b.gates.mu.Unlock()
	b.gates.open[stream] = g
	return nil
}

// fitForGate is an error where a stream answers before it has written, or writes
// otherwise than the gate reads.
func (b *Embedded) fitForGate(ctx context.Context, name string) error {
	nc, err := b.Connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return err
	}
	switch c := stream.CachedInfo().Config; {
	case c.Storage != jetstream.FileStorage, c.PersistMode != jetstream.DefaultPersistMode, c.Replicas > 1:
		return errors.New("a message of this stream may be answered before it is in a file")
	case c.Compression != jetstream.NoCompression:
		return errors.New("the files of this stream are compressed")
	}
	return nil
}

func (b *Embedded) hasRoom() error {
	if err := b.room.Load(); err != nil {
		return *err
	}
	return nil
}

// gate is the gate of a stream; nil: it needs none. A nil bus is one elsewhere.
func (b *Embedded) gate(stream string) *gate.Gate {
	if b == nil {
		return nil
	}
	b.gates.mu.RLock()
	defer b.gates.mu.RUnlock()
	return b.gates.open[stream]
}

// Synced returns once every message of a stream, up to one that a consumer has been
// given, is as durable as its acknowledgement says. Who makes durable that messages have
// been dealt with calls it before. A bus that needs no gate, or none at all (nil), has
// synced what it delivers.
func (b *Embedded) Synced(ctx context.Context, stream string, seq uint64) error {
	if g := b.gate(stream); g != nil {
		if err := g.Synced(ctx, seq); err != nil {
			return fmt.Errorf("bus: stream %s up to %d: %w", stream, seq, err)
		}
	}
	return nil
}

// Purgeable is the sequence up to which, exclusively, messages of a stream may be removed,
// of those before seq: files as a whole, since one that is written anew is not durable
// for a moment. 0: none. Files are a quarter of a stream's bound or 8 MB; a stream of
// less than 16 MiB may be a single one, of which nothing is ever removed.
func (b *Embedded) Purgeable(stream string, seq uint64) uint64 {
	if g := b.gate(stream); g != nil {
		return g.Before(seq)
	}
	return seq
}

// numbered is a subject as the target of a mapping from itself.
func numbered(subject string) string {
	tokens, n := strings.Split(subject, "."), 0
	for i, t := range tokens {
		if t == "*" {
			n++
			tokens[i] = fmt.Sprintf("{{wildcard(%d)}}", n)
		}
	}
	return strings.Join(tokens, ".")
}

// throughGates adds to subjects a client may publish on what they are mapped to:
// the server asks for permission after it has mapped.
func throughGates(publish []string) []string {
	if publish == nil {
		return nil
	}
	all := slices.Clone(publish)
	for _, s := range publish {
		all = append(all, gate.Prefix+s)
	}
	return all
}

// Collectors returns the metrics of the bus, to be registered once its gates
// are open.
func (b *Embedded) Collectors() (all []prometheus.Collector) {
	b.gates.mu.RLock()
	defer b.gates.mu.RUnlock()
	for _, g := range b.gates.open {
		all = append(all, g.Collectors()...)
	}
	return all
}

// closeGates lets what came be stored and takes no more.
func (b *Embedded) closeGates() {
	b.gates.mu.RLock()
	defer b.gates.mu.RUnlock()
	var wg sync.WaitGroup
	for _, g := range b.gates.open {
		wg.Go(g.Close)
	}
	wg.Wait()
}
