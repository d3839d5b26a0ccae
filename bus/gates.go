package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus/gate"
	"jianguo/internal/must"
)

// ErrBroken says that a sync has failed: the bus has to be started again.
var ErrBroken = gate.ErrBroken

// gates are those of an embedded bus.
type gates struct {
	cfg    Config
	server *server.Server
	secret string
	room   func() error // why no message may be stored now
	out    string       // gates publish on it + the public subject; random, so that no client can

	mu   sync.RWMutex
	open map[string]*gate.Gate // by stream; under mu
	made map[string]time.Time  // when the stream of each was created; under watcher.opening
}

// streamDir is the directory that the server keeps a stream in.
func (g *gates) streamDir(stream string) string {
	return filepath.Join(g.cfg.Dir, server.JetStreamStoreDir, server.DEFAULT_GLOBAL_ACCOUNT, "streams", stream)
}

// prepare maps subjects before any client can publish on them, and repairs what a
// failed sync has left.
func (g *gates) prepare() error {
	account := g.server.GlobalAccount()
	for _, stream := range g.cfg.Gates {
		if err := gate.Repair(g.streamDir(stream.Name)); err != nil {
			return fmt.Errorf("bus: stream %s: %w", stream.Name, err)
		}
		for _, s := range stream.Subjects {
			err := account.AddMapping(g.out+s, mappingTarget(s))
			if err == nil {
				err = account.AddMapping(s, gate.In(stream.Name)+mappingTarget(s))
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

// openFor opens the gate of a stream, if it is to have one. A gate of a stream that was deleted makes way.
func (g *gates) openFor(ctx context.Context, stream string) error {
	i := slices.IndexFunc(g.cfg.Gates, func(s GatedStream) bool { return s.Name == stream })
	if i < 0 {
		return nil
	}
	made, err := g.fits(ctx, stream)
	if err != nil {
		return fmt.Errorf("bus: gate of %s: %w", stream, err)
	}
	room := g.room
	if g.cfg.Gates[i].Always {
		room = nil
	}
	before := g.of(stream)
	if before != nil {
		if made.Equal(g.made[stream]) {
			return nil
		}
		before.Close()
	}
	conn, err := connectTo(g.server, g.secret, nats.Name("jianguo gate "+stream), nats.ReconnectWait(100*time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				g.cfg.Logger.Error("the gate lost its connection to the bus", "stream", stream, "error", err)
			}
		}))
	if err != nil {
		return err
	}
	open, err := gate.Open(gate.Config{Conn: conn, Stream: stream, Dir: g.streamDir(stream), Subjects: g.cfg.Gates[i].Subjects, Out: g.out, MayAnswer: MayAnswer, Before: before,
		Room: room, Logger: g.cfg.Logger, Fail: g.cfg.Fail})
	if err != nil {
		conn.Close()
		return fmt.Errorf("bus: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open[stream], g.made[stream] = open, made
	return nil
}

// fits returns when a stream was created. It is an error if the stream answers before it has
// written, or if the gate cannot read its files.
func (g *gates) fits(ctx context.Context, name string) (made time.Time, err error) {
	return must.Try(func() time.Time {
		nc := must.Get(connectTo(g.server, g.secret))
		defer nc.Close()
		stream := must.Get(must.Get(jetstream.New(nc)).Stream(ctx, name))
		switch c := stream.CachedInfo().Config; {
		case c.Storage != jetstream.FileStorage, c.PersistMode != jetstream.DefaultPersistMode, c.Replicas > 1:
			must.Do(errors.New("a message of this stream may be answered before it is in a file"))
		case c.Compression != jetstream.NoCompression:
			must.Do(errors.New("the files of this stream are compressed"))
		}
		return stream.CachedInfo().Created
	})
}

// of returns the open gate of a stream; nil: it has none.
func (g *gates) of(stream string) *gate.Gate {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.open[stream]
}

func (g *gates) all() []*gate.Gate {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Collect(maps.Values(g.open))
}
