package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"jianguo/api"
	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/story"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/clock"
	"jianguo/internal/datadir"
	"jianguo/internal/disk"
	"jianguo/segment"
)

// service is a running `jianguo serve`.
type service struct {
	dir    string
	access access
	disk   disk.Disk     // HTTP refuses writes while it is full: a request would wait in vain
	clock  *clock.Steady // by which data expires
	// connections bounds those of HTTP, and those of the embedded bus.
	connections int
	http        *net.TCPListener
	starting    *api.Starting // answers on http until the API does

	// What judges:
	flags     *serveFlags
	name      string // of this process, on the bus
	log       *slog.Logger
	lock      *datadir.Lock
	bus       *bus.Embedded // nil: external
	conn      *nats.Conn
	segmenter *segment.Segmenter
	index     *index.Index
	ingest    *ingest.Service

	reports   *eventlog.NATS // the log of exposures
	exposure  *exposure.Store
	stories   *story.Stories
	histories exposure.Config // of users, without the rest
	vital     datadir.Vital   // none until all files are open
	browse    *browse.Model
	metrics   *prometheus.Registry
	api       *api.Server
	otherwise chan error // that another service on the bus judges otherwise; nil: there is none
	closers   closers
}

// address is that of HTTP.
func (s *service) address() string {
	if s.access.certs != nil {
		return "https://" + s.http.Addr().String()
	}
	return "http://" + s.http.Addr().String()
}

func (s *service) exposureReady() error {
	if err := s.exposure.Trouble(); err != nil {
		return err
	}
	if !s.exposure.Ready() {
		return errors.New("exposure: reports from before the start are still being applied")
	}
	return s.reports.Ready()
}

// run serves until ctx is done, completes the requests in flight, and closes.
func (s *service) run(ctx context.Context) error {
	g, failed := errgroup.WithContext(ctx)
	// HTTP ends before ingest: its last requests wait for verdicts.
	ingesting, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.Go(func() error { defer stop(); return s.api.Serve(failed, s.http) })
	g.Go(func() error { return s.ingest.Run(ingesting) })
	g.Go(func() error { s.browse.Run(failed); return nil })
	g.Go(func() error { followStories(failed, s.index, s.stories, s.log); return nil })
	g.Go(func() error { return s.vital.Watch(failed) })
	g.Go(func() error { return s.watchJudging(failed) })
	g.Go(func() error { s.access.onHangup(failed, s); return nil })
	return errors.Join(g.Wait(), s.close())
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

// close closes the parts, in reverse order, and then writes files again that were removed.
func (s *service) close() error {
	ctx := context.Background()
	settle, err := s.vital.Rescue(map[string]func(to string) error{
		datadir.Catalogue: func(to string) error { return s.index.CopyTo(ctx, to) },
		datadir.Exposures: func(to string) error {
			return errors.Join(s.exposure.Flush(ctx), s.exposure.CopyTo(ctx, to))
		},
	})
	closed := s.closers.close()
	if err == nil {
		err = settle()
	}
	return errors.Join(err, closed)
}

// plan is how the streams of this bus are made, once it is connected.
func (s *service) plan() bus.Plan {
	f := &s.flags.externalBus
	p := bus.Plan{Prefix: f.StreamPrefix, Replicas: f.Replicas, Keep: f.NATS != "" && !f.CreateStreams}
	if p.Replicas == 0 && s.bus == nil && s.conn.ConnectedClusterName() != "" {
		p.Replicas = 3
	}
	return p
}

// announce writes to the lock file how commands reach this process.
func (s *service) announce() error {
	h := datadir.Holder{PID: os.Getpid(), Command: "serve", Name: s.name, NATS: s.natsURL(),
		StreamPrefix: s.flags.StreamPrefix, HTTP: s.address(), Shared: s.flags.ExposureStore != ""}
	if s.bus != nil {
		h.Token, h.Pin = s.bus.Secret(), s.access.certs.pin()
	}
	return s.lock.Announce(h)
}

// natsURL is where other processes reach the bus; empty: they cannot.
func (s *service) natsURL() string {
	if s.bus == nil {
		return bus.RedactURL(s.flags.NATS)
	}
	return s.bus.URL()
}
