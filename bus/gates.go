package bus

import (
	"context"
	"errors"
	"fmt"
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

// GatedStream is a stream with a gate.
type GatedStream struct {
	Name     string
	Subjects []string // all of the stream's
	// Always accepts messages however little of the disk is free: for messages that
	// others have to wait for.
	Always bool
}

// ErrBroken says that a sync has failed: the bus has to be started again.
var ErrBroken = gate.ErrBroken

// streamDir is the directory that the server keeps a stream in.
func (b *Embedded) streamDir(stream string) string {
	return filepath.Join(b.cfg.Dir, server.JetStreamStoreDir, server.DEFAULT_GLOBAL_ACCOUNT, "streams", stream)
}

// prepareGates maps subjects before any client can publish on them, and repairs what a
// failed sync has left.
func (b *Embedded) prepareGates() error {
	account := b.server.GlobalAccount()
	for _, stream := range b.cfg.Gates {
		if err := gate.Repair(b.streamDir(stream.Name)); err != nil {
			return fmt.Errorf("bus: stream %s: %w", stream.Name, err)
		}
		for _, s := range stream.Subjects {
			err := account.AddMapping(b.outPrefix+s, mappingTarget(s))
			if err == nil {
				err = account.AddMapping(s, gate.Prefix+mappingTarget(s))
			}
			if err != nil {
				return fmt.Errorf("bus: gate of %s: subject %s: %w", stream.Name, s, err)
			}
		}
	}
	return nil
}

// mappingTarget is a subject as the target of a mapping from itself.
func mappingTarget(subject string) string {
	tokens, n := strings.Split(subject, "."), 0
	for i, t := range tokens {
		if t == "*" {
			n++
			tokens[i] = fmt.Sprintf("{{wildcard(%d)}}", n)
		}
	}
	return strings.Join(tokens, ".")
}

// withGates adds to the subjects that a client may publish on those they are mapped to:
// the server checks permissions after it has mapped.
func withGates(publish []string) []string {
	if publish == nil {
		return nil
	}
	all := slices.Clone(publish)
	for _, s := range publish {
		all = append(all, gate.Prefix+s)
	}
	return all
}

// Gate opens the gate of a stream, which must exist. A bus without gates has none to open.
func (b *Embedded) Gate(ctx context.Context, stream string) error {
	if b == nil || len(b.cfg.Gates) == 0 {
		return nil
	}
	i := slices.IndexFunc(b.cfg.Gates, func(s GatedStream) bool { return s.Name == stream })
	if i < 0 {
		return fmt.Errorf("bus: stream %s has no gate", stream)
	}
	if err := b.fitForGate(ctx, stream); err != nil {
		return fmt.Errorf("bus: gate of %s: %w", stream, err)
	}
	room := b.hasRoom
	if b.cfg.Gates[i].Always {
		room = nil
	}
	g, err := gate.Open(gate.Config{Dial: func() (net.Conn, error) { return b.server.InProcessConn() }, Secret: b.secret,
		Stream: stream, Dir: b.streamDir(stream), Subjects: b.cfg.Gates[i].Subjects, Out: b.outPrefix,
		Room: room, Logger: b.log, Fail: b.cfg.Fail})
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gates[stream] = g
	return nil
}

// fitForGate is an error where a stream answers before it has written, or where the gate
// cannot read its files.
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

// gate returns the open gate of a stream; nil: it has none.
func (b *Embedded) gate(stream string) *gate.Gate {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.gates[stream]
}

// Synced returns once every message of a stream, up to one that a consumer has received,
// is as durable as its acknowledgement promises. A consumer calls it before it makes
// durable that messages have been dealt with. Where the stream has no gate, it returns at
// once. The error wraps ErrBroken where no waiting will help.
func (b *Embedded) Synced(ctx context.Context, stream string, seq uint64) error {
	if g := b.gate(stream); g != nil {
		if err := g.Synced(ctx, seq); err != nil {
			return fmt.Errorf("bus: stream %s up to %d: %w", stream, seq, err)
		}
	}
	return nil
}

// Purgeable is the sequence up to which, exclusively, messages of a stream may be removed,
// of those before seq; 0: none. Only whole files are removed: one that is rewritten is not
// durable for a moment. A file holds a quarter of a stream's bound or 8 MB; a stream of
// less than 16 MiB may be a single file, from which nothing is ever removed.
func (b *Embedded) Purgeable(stream string, seq uint64) uint64 {
	if g := b.gate(stream); g != nil {
		return g.Before(seq)
	}
	return seq
}

// Collectors returns the metrics of the bus, to be registered once its gates
// are open.
func (b *Embedded) Collectors() (all []prometheus.Collector) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, g := range b.gates {
		all = append(all, g.Collectors()...)
	}
	return all
}

// closeGates lets gates store what they have received, and accept no more.
func (b *Embedded) closeGates() {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var wg sync.WaitGroup
	for _, g := range b.gates {
		wg.Go(g.Close)
	}
	wg.Wait()
}
