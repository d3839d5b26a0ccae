package main

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"jianguo/api"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/legacy"
	"jianguo/exposure/story"
	"jianguo/index/browse"
	"jianguo/internal/datadir"
	"jianguo/internal/disk"
	"jianguo/internal/steady"
	"jianguo/internal/wait"
)

// service is a running `jianguo serve`.
type service struct {
	dir    string
	access access
	disk   disk.Disk     // HTTP refuses writes while it has no space, because on a full disk a request would wait for an answer that cannot come
	clock  *steady.Clock // by which data expires
	// connections bounds those of HTTP, and those of the embedded bus.
	connections int
	http        *net.TCPListener
	starting    *api.Starting  // answers on http until the API does
	core        *core          // lock, catalogue, bus and ingest
	reports     *eventlog.NATS // the log of exposures
	exposure    *exposure.Store
	old         *legacy.Old // nil: there is none
	stories     *story.Stories
	histories   exposure.Config // of users, without the rest
	kept        kept            // none until all files are open
	browse      *browse.Model
	metrics     *prometheus.Registry
	api         *api.Server
	closers     closers
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
	g.Go(func() error { return s.core.ingest.Run(ingesting) })
	g.Go(func() error { s.follow(failed); return nil })
	g.Go(func() error { followStories(failed, s.core.index.View(), s.stories, s.core.log); return nil })
	g.Go(func() error { return s.kept.watch(failed) })
	g.Go(func() error { s.access.onHangup(failed, s.core); return nil })
	return errors.Join(g.Wait(), s.close())
}

// follow keeps the editors' read model up to date with the catalogue. A failure of
// that file does not stop ingest.
func (s *service) follow(ctx context.Context) {
	for {
		err := s.browse.Run(ctx)
		if err == nil {
			return
		}
		s.core.log.ErrorContext(ctx, "the console lags behind", "error", err)
		if wait.For(ctx, 5*time.Second) != nil {
			return
		}
	}
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
	settle, err := s.kept.rescue(map[string]func(to string) error{
		datadir.Catalogue: func(to string) error { return s.core.index.CopyTo(ctx, to) },
		datadir.Exposures: func(to string) error { return errors.Join(s.exposure.Flush(ctx), s.exposure.CopyTo(ctx, to)) },
	})
	closed := s.closers.close()
	if err == nil {
		err = settle()
	}
	return errors.Join(err, closed)
}
