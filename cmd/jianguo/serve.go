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

	"jianguo/api"
	"jianguo/api/console"
	"jianguo/api/console/session"
	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/policyfile"
	"jianguo/exposure/story"
	"jianguo/exposure/wire"
	"jianguo/index/browse"
	"jianguo/internal/datadir"
	"jianguo/internal/disk"
	"jianguo/internal/steady"
)

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

func orNone(s string) string {
	if s == "" {
		return "in-process"
	}
	return s
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
	if s.access, err = f.accessFlags.read(co.log); err != nil {
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
	s.closers.add(func() error {
		if s.starting != nil {
			_ = s.starting.End() // the error that ended the start is already known
		}
		_ = s.http.Close() // Serve has closed it if it ran
		return nil
	})
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
	if err == nil {
		s.closers.add(s.core.Close)
		err = errors.Join(s.core.answerReindex(), s.core.announce())
	}
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
	if err == nil {
		s.closers.add(s.browse.Close)
	}
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
		Dir: s.dir, Rejudge: rejudge(s.dir, s.disk, f.Segment), Own: f.OwnSource, Logger: co.log, Version: version,
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
		s.closers.add(s.exposure.Close)
		err = datadir.Record(s.dir)
	}
	if err == nil {
		s.kept, err = openKept(s.dir, co.log)
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
