package main

import (
	"log/slog"
	"os"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/segment"
	"jianguo/sketch"
)

// core is what judges: the lock of the data directory, the catalogue, the segmenter, the bus and ingest.
type core struct {
	flags     *serveFlags
	dir       string        // the data directory
	http      string        // address of HTTP, for the lock file
	certs     *certificates // of the embedded bus and of HTTP; nil: no TLS
	name      string        // of this process
	log       *slog.Logger
	lock      *datadir.Lock
	bus       *bus.Embedded // nil: external
	conn      *nats.Conn
	segmenter *segment.Segmenter
	index     *index.Index
	ingest    *ingest.Service
}

// normal is the normal form of a kept text. The segmenter is loaded before anything
// is judged.
func (c *core) normal(title, body string) sketch.Input {
	var text segment.Text
	c.segmenter.Analyze(&text, title, body)
	return ingest.Input(&text)
}

// plan is how the streams of this bus are made, once it is connected.
func (c *core) plan() bus.Plan {
	f := &c.flags.externalBus
	p := bus.Plan{Prefix: f.StreamPrefix, Replicas: f.Replicas, Keep: f.NATS != "" && !f.CreateStreams}
	if p.Replicas == 0 && c.bus == nil && c.conn.ConnectedClusterName() != "" {
		p.Replicas = 3
	}
	return p
}

// announce writes to the lock file how commands reach this process.
func (c *core) announce() error {
	h := datadir.Holder{PID: os.Getpid(), Command: "serve", Name: c.name, NATS: c.natsURL(), StreamPrefix: c.flags.StreamPrefix, HTTP: c.http}
	if c.bus != nil {
		h.Token, h.Pin = c.bus.Secret(), c.certs.pin()
	}
	return c.lock.Announce(h)
}

// natsURL is where other processes reach the bus; empty: they cannot.
func (c *core) natsURL() string {
	if c.bus == nil {
		return bus.RedactURL(c.flags.NATS)
	}
	return c.bus.URL()
}
