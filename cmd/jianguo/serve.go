package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for machines without a zone database

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"jianguo/api"
	"jianguo/api/console"
	"jianguo/api/console/session"
	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/legacy"
	"jianguo/exposure/policyfile"
	"jianguo/exposure/story"
	"jianguo/exposure/wire"
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
	NATSListen   string   `name:"nats-listen" help:"Address of the embedded bus; empty: in-process only." default:"127.0.0.1:4222"`
	Durability   string   `help:"What an acknowledgement means: ${enum}. synced: fsynced; relaxed: the operating system has it." enum:"synced,relaxed" default:"synced"`
	NoTexts      bool     `help:"Do not keep bodies: no side-by-side view, and judging on sketches only."`
	Language     string   `help:"Language of the reasons in events: ${enum}." enum:"zh,en" default:"zh"`
	Tokens       string   `help:"File of tokens (jianguo token); read again at SIGHUP." type:"existingfile" placeholder:"FILE"`
	TokenRate    float64  `help:"Requests a second that one token may make over HTTP; 0: no bound." default:"0"`
	TLSCert      string   `name:"tls-cert" help:"Certificate of HTTP and of the embedded bus, in PEM; read again at SIGHUP." type:"existingfile" placeholder:"FILE"`
	TLSKey       string   `name:"tls-key" help:"Its key." type:"existingfile" placeholder:"FILE"`
	TLSClientCA  string   `name:"tls-client-ca" help:"Let clients of other machines in only with a certificate of this authority." type:"existingfile" placeholder:"FILE"`
	EditorHeader string   `help:"Header in which a trusted proxy names the editor who is signed in." placeholder:"NAME"`
	EditorRole   string   `name:"editor-role-header" help:"Header in which it says their role: editor or operator; without it they are editors." placeholder:"NAME"`
	OwnSource    []string `name:"own-source" help:"A source of your own, repeated for several: the console shows who copies it, and whom it copies." placeholder:"NAME"`
	EditorProxy  []string `name:"editor-proxy" help:"Address or network of that proxy, as 10.1.2.0/24; none: loopback." placeholder:"NETWORK"`
	Connections  int      `help:"HTTP connections at once, half of them from one address at most, and as many of the embedded bus; fewer where the limit of open files is low." default:"4096"`
	Insecure     bool     `help:"Without tokens, allow listening beyond loopback and requests for any host name."`

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

type serveCmd struct {
	Data       string        `help:"The data directory; created if missing." default:"${data}" placeholder:"DIR"`
	StopWithin time.Duration `help:"How long after a signal the service may take to finish. Then it ends as if killed, with exit code 1; nothing acknowledged is lost." default:"30s"`
	serveFlags
}

// Run serves until a signal arrives.
func (c *serveCmd) Run(co *streams) error {
	s, err := c.open(co, c.Data)
	if errors.Is(err, context.Canceled) {
		return nil // stopped during the start
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(co.err, "jianguo %s: %s  bus %s  data %s  durability %s\n", version, s.address(), orNone(s.core.natsURL()), c.Data, c.Durability)
	defer context.AfterFunc(co.ctx, func() {
		time.AfterFunc(c.StopWithin, func() {
			fmt.Fprintf(co.err, "jianguo: not finished %v after the signal, and ended; nothing acknowledged is lost\n", c.StopWithin)
			if err := s.core.ingest.Trouble(); err != nil {
				fmt.Fprintln(co.err, "jianguo:", err)
			}
			os.Exit(1)
		})
	})()
	return s.run(co.ctx)
}

// address is that of HTTP.
func (s *service) address() string {
	if s.access.certs != nil {
		return "https://" + s.http.Addr().String()
	}
	return "http://" + s.http.Addr().String()
}

func orNone(s string) string {
	if s == "" {
		return "in-process"
	}
	return s
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
	kept        kept            // nil until all files are open
	browse      *browse.Model
	metrics     *prometheus.Registry
	api         *api.Server
}

// clocks are those of the system. Tests set others.
var clocks = steady.System

// open opens the parts of the service; nothing runs before run.
func (f *serveFlags) open(co *streams, dir string) (_ *service, err error) {
	s := &service{dir: dir, clock: steady.New(clocks(), co.log), disk: disk.Disk{Dir: dir, Reserve: f.DiskReserve << 20}, metrics: prometheus.NewRegistry()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for _, open := range []func(*streams, *service) error{
		f.openAccess,   // tokens and proxies
		f.openHTTP,     // the listener; requests get 503 until the API is open
		f.openCore,     // catalogue, bus and ingest
		f.openExposure, // users' histories
		f.openBrowse,   // the editors' read model
		f.openAPI,      // HTTP, console, request-reply services on the bus
		f.openMetrics,
	} {
		if err := open(co, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// openAccess reads tokens, proxies and certificates. Without tokens it refuses addresses
// beyond loopback, unless --insecure allows them.
func (f *serveFlags) openAccess(co *streams, s *service) (err error) {
	if s.access, err = f.readAccess(co.log); err != nil {
		return err
	}
	tokens := s.access.tokens != nil
	if err := api.CheckListen(f.Listen, tokens, f.Insecure); err != nil {
		return err
	}
	if f.NATS == "" && f.NATSListen != "" {
		if err := api.CheckListen(f.NATSListen, tokens, f.Insecure); err != nil {
			return fmt.Errorf("bus: %w", err)
		}
	}
	return nil
}

func (f *serveFlags) openHTTP(_ *streams, s *service) (err error) {
	if s.connections, err = api.Descriptors(f.Connections); err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	s.http = l.(*net.TCPListener)
	s.starting = api.Start(s.http, s.access.certs.config(), version)
	return nil
}

func (f *serveFlags) openCore(co *streams, s *service) (err error) {
	if s.histories, err = f.histories(); err != nil {
		return err
	}
	s.core, err = openCore(co, coreConfig{Data: s.dir, HTTP: s.address(),
		External: f.externalBus, Backlog: max(f.Backlog, 64) << 20, NATSListen: f.NATSListen, NATSUsers: s.access.tokens.BusUser, Certificates: s.access.certs,
		Gates: []bus.GatedStream{{Name: eventlog.StreamName, Subjects: eventlog.Subjects(f.kinds(s)...)}}, Reserve: s.disk.Reserve, Connections: s.connections,
		Relaxed: f.Durability == "relaxed", DropTexts: f.NoTexts, Language: f.Language, Policy: f.Policy.Policy(), SnapshotEvery: f.SnapshotEvery, Clock: s.clock.Now, Segment: f.Segment,
		Progress: s.starting.Progress, Loaded: s.loaded})
	return err
}

// loaded ends the early answers. The rest opens within moments, for which a client
// can wait.
func (s *service) loaded() error {
	starting := s.starting
	s.starting = nil
	return starting.End()
}

func (f *serveFlags) openBrowse(co *streams, s *service) (err error) {
	s.browse, err = browse.Open(co.ctx, s.core.index.View(), browse.Config{Words: console.IndexWords(s.core.segmenter), Workers: (processors() + 1) / 2, Logger: co.log})
	return err
}

func (f *serveFlags) openAPI(co *streams, s *service) (err error) {
	s.api, err = api.New(api.Config{Index: s.core.index, Ingest: s.core.ingest, Conn: s.core.conn,
		Browse: s.browse, Find: console.Finder(s.browse, s.core.segmenter), Console: f.console(s, co),
		Tokens: s.access.tokens, TLS: s.access.certs.config(), AnyHost: f.Insecure, Room: s.disk.HasSpace,
		Ready:  map[string]func() error{"exposure": s.exposureReady, "disk": s.disk.HasSpace},
		Logger: co.log, Gatherer: s.metrics, Version: version, Connections: s.connections})
	if err == nil {
		s.api.AddExposure(s.exposure)
	}
	return err
}

// console returns a function that adds the editors' pages to the server.
func (f *serveFlags) console(s *service, co *streams) func(*echo.Echo, api.Bound, <-chan struct{}) error {
	cfg := console.Config{Index: s.core.index, Browse: s.browse, Segmenter: s.core.segmenter, Ingest: s.core.ingest, Conn: s.core.conn,
		Dir: s.dir, Rejudge: f.rejudge(s), Own: f.OwnSource, Logger: co.log, Version: version,
		Access: session.Config{Tokens: s.access.tokens, Header: f.EditorHeader, RoleHeader: f.EditorRole, Proxies: s.access.proxies}}
	return func(e *echo.Echo, bound api.Bound, done <-chan struct{}) error {
		cfg.Done, cfg.Bound = done, bound
		return console.Register(e, cfg)
	}
}

func (f *serveFlags) openMetrics(_ *streams, s *service) error {
	s.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		s.clock.Collector(), buildInfo(s.core.index.Recipe, f.Policy.Policy().Hash()))
	if s.core.bus != nil {
		s.metrics.MustRegister(s.core.bus.Collectors()...)
	}
	for _, part := range [][]prometheus.Collector{s.core.index.Collectors(), s.core.ingest.Collectors(), s.exposure.Collectors(), s.api.Collectors(), {freeSpace(s.disk)}} {
		s.metrics.MustRegister(part...)
	}
	return nil
}

func (f *serveFlags) openExposure(co *streams, s *service) error {
	zone, err := time.LoadLocation(f.TimeZone)
	if err != nil {
		return fmt.Errorf("--time-zone: %w", err)
	}
	if s.old, err = f.legacyFlags.open(co); err != nil {
		return err
	}
	if sc, ok := s.histories.Scenes[""]; s.old != nil && ok && !(slices.Contains(sc.Reads, "") && slices.Contains(sc.Writes, "")) {
		return fmt.Errorf("--legacy-redis: scenes.default of %s has to read and to write default, which users are imported into", f.ExposurePolicy)
	}
	s.stories = story.New()
	js, err := jetstream.New(s.core.conn)
	if err != nil {
		return err
	}
	var dead *bus.DeadLetters
	err = bus.Patiently(co.ctx, co.log, busWait, func() error {
		if s.reports, err = eventlog.Open(co.ctx, js, f.log(s), co.log); err == nil {
			dead, err = bus.OpenDead(co.ctx, s.core.conn, f.StreamPrefix)
		}
		return err
	})
	if err != nil {
		return err
	}
	together, err := f.shared(co, s, js)
	if err != nil {
		return err
	}
	s.exposure, err = exposure.Open(co.ctx, exposure.Config{Path: filepath.Join(s.dir, datadir.Exposures), Log: s.reports, Shared: together, Old: s.old, Stories: s.stories,
		Policies: s.histories.Policies, Kinds: s.histories.Kinds, Scenes: s.histories.Scenes,
		Location: zone, Steady: s.clock, Relaxed: f.Durability == "relaxed", CacheBytes: f.ExposureCache << 20, FlushAge: f.ExposureFlush, FailClosed: f.FailClosed, Logger: co.log,
		Dead: func(ctx context.Context, e eventlog.Entry, user string, reason error) error {
			r := bus.Refused{Subject: e.Subject, Data: e.Data, Sequence: e.Seq, Arrived: e.Time, Reason: reason.Error(), ID: fmt.Sprintf("exposures-%d", e.Seq)}
			if bad, ok := errors.AsType[*wire.Error](reason); ok {
				r.Field = bad.Field
			}
			return dead.BuryOf(ctx, user, r, eventlog.ErasureDelay)
		},
		Forgotten: dead.Forget})
	if s.old != nil {
		s.metrics.MustRegister(s.old.Collectors()...)
		s.old.Import = historyImport(s.exposure, s.histories.Policies[""], zone)
	}
	if err == nil {
		err = datadir.Record(s.dir)
	}
	if err == nil {
		s.kept, err = openKept(s.dir)
	}
	return err
}

// histories reads which histories there are; without a policy of its own a history has the default one.
func (f *serveFlags) histories() (cfg exposure.Config, err error) {
	if strings.HasSuffix(f.ExposurePolicy, ".json") {
		if len(f.Scenes)+len(f.Histories) > 0 {
			return cfg, errors.New("--scenes, --histories: name them in the file of --exposure-policy")
		}
		if cfg, err = policyfile.Read(f.ExposurePolicy); err != nil {
			err = fmt.Errorf("--exposure-policy: %w", err)
		}
		return cfg, err
	}
	policy, err := exposure.ParsePolicy(f.ExposurePolicy)
	if err != nil {
		return cfg, fmt.Errorf("--exposure-policy: %w, nor a file that ends in .json", err)
	}
	cfg.Policies, cfg.Scenes = map[string]exposure.Policy{"": policy}, map[string]exposure.Scene{}
	for scene, name := range f.Scenes {
		cfg.Policies[name] = policy
		cfg.Scenes[scene] = exposure.Scene{Reads: []string{name}, Writes: []string{name}}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Histories)) {
		if _, used := cfg.Policies[name]; !used {
			return cfg, fmt.Errorf("--histories: no scene of --scenes goes into history %q", name)
		}
		if cfg.Policies[name], err = exposure.ParsePolicy(f.Histories[name]); err != nil {
			return cfg, fmt.Errorf("--histories: history %q: %w", name, err)
		}
	}
	return cfg, nil
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
	g.Go(func() error { s.followStories(failed); return nil })
	g.Go(func() error { return s.watchFiles(failed) })
	g.Go(func() error { s.onHangup(failed); return nil })
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

func (s *service) close() error {
	var errs []error
	settle, err := s.rescue()
	errs = append(errs, err)
	if s.exposure != nil {
		errs = append(errs, s.exposure.Close())
	}
	if s.browse != nil {
		errs = append(errs, s.browse.Close())
	}
	if s.core != nil {
		errs = append(errs, s.core.Close())
	}
	if s.starting != nil {
		_ = s.starting.End() // the error that ended the start is already known
	}
	if s.http != nil {
		// Serve has closed it if it ran.
		_ = s.http.Close()
	}
	if err == nil {
		errs = append(errs, settle())
	}
	return errors.Join(errs...)
}
