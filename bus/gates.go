package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus/gate"
)

// ErrBroken says that a sync has failed: the bus has to be started again.
var ErrBroken = gate.ErrBroken

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
			err := account.AddMapping(b.out+s, mappingTarget(s))
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

// openGate opens the gate of a stream, if it is to have one. A gate of a stream that was deleted makes way.
func (b *Embedded) openGate(ctx context.Context, stream string) error {
	i := slices.IndexFunc(b.cfg.Gates, func(s GatedStream) bool { return s.Name == stream })
	if i < 0 {
		return nil
	}
	created, err := b.checkGated(ctx, stream)
	if err != nil {
		return fmt.Errorf("bus: gate of %s: %w", stream, err)
	}
	room := b.room.Err
	if b.cfg.Gates[i].Always {
		room = func() error { return nil }
	}
	if before := b.gate(stream); before != nil {
		if created.Equal(b.created[stream]) {
			return nil
		}
		before.Close()
	}
	conn, err := connectTo(b.server, b.secret,
		nats.Name("jianguo gate "+stream), nats.ReconnectWait(100*time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				b.cfg.Logger.Error("the gate lost its connection to the bus", "stream", stream, "error", err)
			}
		}))
	if err != nil {
		return err
	}
	open, err := gate.Open(gate.Config{
		Conn: conn, Stream: stream, Dir: b.streamDir(stream), Subjects: b.cfg.Gates[i].Subjects, Out: b.out,
		MayAnswer: MayAnswer, Stats: b.stats, Room: room, Logger: b.cfg.Logger, Fail: b.cfg.Fail,
	})
	if err != nil {
		conn.Close()
		return fmt.Errorf("bus: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gates[stream], b.created[stream] = open, created
	return nil
}

// checkGated returns when a stream with a gate was created. It is an error if the stream answers before it has
// written, or if the gate cannot read its files.
func (b *Embedded) checkGated(ctx context.Context, name string) (created time.Time, err error) {
	nc, err := b.Connect()
	if err != nil {
		return created, err
	}
	defer nc.Close()
	stream, err := JetStream(nc).Stream(ctx, name)
	if err != nil {
		return created, err
	}
	switch c := stream.CachedInfo().Config; {
	case c.Storage != jetstream.FileStorage, c.PersistMode != jetstream.DefaultPersistMode, c.Replicas > 1:
		return created, errors.New("a message of this stream may be answered before it is in a file")
	case c.Compression != jetstream.NoCompression:
		return created, errors.New("the files of this stream are compressed")
	}
	// What was damaged when the server read its files, it has removed.
	var info struct{ State server.StreamState }
	reply, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+name, []byte(`{"deleted_details":true}`))
	if err == nil && json.Unmarshal(reply.Data, &info) == nil && info.State.Lost != nil {
		b.cfg.Logger.Error("damaged messages of a stream are lost", "stream", name,
			"messages", len(info.State.Lost.Msgs), "bytes", info.State.Lost.Bytes)
	}
	return stream.CachedInfo().Created, nil
}
