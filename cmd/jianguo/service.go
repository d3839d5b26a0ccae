package main

import (
	"context"
	"errors"
	"net"
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
	"jianguo/internal/settings"
	"jianguo/internal/steady"
)

// serveFlags are those of `serve` but the directory.
type serveFlags struct {
	Listen string `help:"Address of HTTP and the console." default:"127.0.0.1:8080"`
	externalBus
	NATSListen string `name:"nats-listen" help:"Address of the embedded bus; empty: in-process only." default:"127.0.0.1:4222"`
	Durability string `help:"What an acknowledgement means: ${enum}. synced: fsynced; relaxed: the operating system has it." enum:"synced,relaxed" default:"synced"`
	NoTexts    bool   `help:"Do not keep bodies: no side-by-side view, and judging on sketches only."`
	Language   string `help:"Language of the reasons in events: ${enum}." enum:"zh,en" default:"zh"`
	accessFlags
	OwnSource   []string `name:"own-source" help:"A source of your own, repeated for several: the console shows who copies it, and whom it copies." placeholder:"NAME"`
	Connections int      `help:"HTTP connections at once, half of them from one address at most, and as many of the embedded bus; fewer where the limit of open files is low." default:"4096"`
	Insecure    bool     `help:"Without tokens, allow listening beyond loopback and requests for any host name."`

	ExposurePolicy string            `help:"How exposures are kept: 'rotate' or 'calendar', with options; or a file that ends in .json, of histories, kinds of reports and scenes." default:"rotate" placeholder:"POLICY"`
	ExposureStore  string            `help:"Keep users' histories in this Redis or Redis Cluster, for all services on the bus of --nats together." placeholder:"redis://HOST,..."`
	ExposureCache  int64             `help:"Memory for the histories of active users, in MiB." default:"256"`
	ExposureFlush  time.Duration     `help:"How long exposures may stay in memory before they are written to the state file; the bus keeps them until then." default:"10s"`
	Histories      map[string]string `help:"More histories with policies of their own, as video=calendar;ads=rotate." placeholder:"NAME=POLICY;..."`
	Scenes         map[string]string `help:"Which history a scene goes into; a scene not named goes into the default one." placeholder:"SCENE=HISTORY;..."`
	SnapshotEvery  int64             `help:"Least number of events between two snapshots of the resident index; never less than an eighth of all events." default:"200000"`
	TimeZone       string            `help:"Time zone of days and months." default:"Asia/Shanghai"`
	Backlog        int64             `help:"Items that may wait for their verdicts, in MiB, 64 at least. Publishers get an error beyond." default:"4096"`
	DiskReserve    uint64            `help:"Refuse writes while less than this is free on the disk of the data directory, in MiB." default:"256"`
	FailClosed     bool              `help:"A filter that cannot be computed answers with no items instead of all."`

	legacyFlags
	settings.Policy
	settings.Segment
}

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
	served := make(chan struct{})
	g.Go(func() error {
		defer close(served)
		return s.api.Serve(failed, s.http)
	})
	ingesting, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.Go(func() error { defer stop(); <-served; return nil })
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
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Second):
		}
	}
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
