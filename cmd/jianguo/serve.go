package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
	_ "time/tzdata" // for machines without a zone database

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"jianguo/api"
	"jianguo/api/console"
	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/story"
	"jianguo/exposure/wire"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/clock"
	"jianguo/internal/datadir"
	"jianguo/internal/disk"
	"jianguo/internal/must"
)

type serveCmd struct {
	Data string `help:"The data directory; created if missing." default:"${data}" placeholder:"DIR" group:"everyday"`
	serveFlags
	StopWithin time.Duration `help:"How long to finish after a signal." range:"1s..1h" default:"30s" group:"tuning"`
}

// Run serves until a signal arrives.
func (c *serveCmd) Run(co *stdio) error {
	s, err := c.open(co, c.Data)
	if errors.Is(err, context.Canceled) {
		return nil // stopped during the start
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(co.err, "jianguo %s: %s  bus %s  data %s  durability %s\n", version, s.address(), cmp.Or(s.natsURL(),
		"in-process"), c.Data, c.Durability)
	defer context.AfterFunc(co.ctx, func() {
		time.AfterFunc(c.StopWithin, func() {
			fmt.Fprintf(co.err, "jianguo: not finished %v after the signal, and ended; nothing acknowledged is lost\n",
				c.StopWithin)
			if err := s.ingest.Trouble(); err != nil {
				fmt.Fprintln(co.err, "jianguo:", err)
			}
			os.Exit(1)
		})
	})()
	return s.run(co.ctx)
}

// clocks are those of the system. Tests set others.
var clocks = clock.System

// open opens the parts of the service; nothing runs before run.
func (f *serveFlags) open(co *stdio, dir string) (*service, error) {
	s := &service{flags: f, dir: dir, name: rand.Text(), log: co.log, clock: clock.NewSteady(clocks(), co.log),
		disk: disk.Disk{Dir: dir, Reserve: uint64(f.DiskReserve) << 20}, metrics: prometheus.NewRegistry()}
	err := must.Catch(func() {
		f.openAccess(s)   // tokens and proxies
		f.openHTTP(s)     // the listener; requests get 503 until the API is open
		f.openCore(co, s) // catalogue
		f.openBus(co, s)  // bus and ingest
		f.openExposure(co, s)
		f.openBrowse(co, s) // the editors' read model
		f.openAPI(co, s)    // HTTP, console, request-reply services on the bus
		f.openMetrics(s)
	})
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// openAccess reads tokens, proxies and certificates. Without tokens it refuses addresses
// beyond loopback, unless --insecure allows them.
func (f *serveFlags) openAccess(s *service) {
	s.access = f.readAccess()
	tokens := s.access.tokens != nil
	must.Dof(api.CheckListen(f.Listen, tokens, f.Insecure), "--listen")
	if f.EditorHeader != "" && !tokens {
		must.Do(errors.New("--editor-header needs --tokens: it is for the console, and without tokens HTTP and " +
			"the bus are open to every client"))
	}
	if f.NATS == "" && f.NATSListen != "" {
		must.Dof(api.CheckListen(f.NATSListen, tokens, f.Insecure), "--nats-listen")
	}
}

func (f *serveFlags) openHTTP(s *service) {
	s.connections = must.Get(api.MaxConnections(f.Connections))
	l, err := net.Listen("tcp", f.Listen)
	must.Dof(err, "--listen")
	s.http = l.(*net.TCPListener)
	s.starting = api.Start(s.http, s.access.certs.config(), version)
	s.closers.add(func() error {
		if s.starting != nil {
			_ = s.starting.End() // the error that ended the start is already known
		}
		_ = s.http.Close() // Serve has closed it if it ran
		return nil
	})
}

// openCore locks the data directory and opens the catalogue.
func (f *serveFlags) openCore(co *stdio, s *service) {
	var err error
	s.histories, err = exposure.ReadPolicies(f.ExposurePolicy)
	must.Dof(err, "--exposure-policy")
	s.lock = must.Get(datadir.Acquire(s.dir, datadir.Holder{Command: "serve", HTTP: s.address()}))
	s.closers.add(s.lock.Close)
	s.segmenter = must.Get(f.segmenter())
	screen := co.progress.stages("loading")
	s.index = must.Get(index.Open(co.ctx, ingest.IndexConfig(s.segmenter, index.Config{Dir: s.dir, Policy: f.policy(),
		Recorded: f.recorded, Language: f.Language, Relaxed: f.Durability == "relaxed",
		SnapshotEvery: f.SnapshotEvery, Clock: s.clock.Now, Logger: co.log, Metrics: s.metrics,
		Progress: func(stage string, done, total int64) {
			screen(stage, done, total)
			s.starting.Progress(stage, done, total)
		}})))
	s.closers.add(s.index.Close)
	must.Do(datadir.Record(s.dir))
	starting := s.starting
	s.starting = nil
	must.Do(starting.End()) // the rest opens within moments, for which a client can wait
}

// openBus opens the bus, and what judges the messages that it has.
func (f *serveFlags) openBus(co *stdio, s *service) {
	gates := []bus.GatedStream{{Name: eventlog.StreamName, Subjects: eventlog.Subjects(f.kinds(s)...)}}
	must.Do(f.externalBus.check())
	if f.NATS != "" {
		s.conn = must.Get(bus.Connect(f.NATS, f.options()...))
		s.compareJudging(co.ctx)
	} else {
		s.warnOfLoss()
		s.bus = must.Get(bus.Start(bus.Config{Dir: filepath.Join(s.dir, "bus"), Listen: f.NATSListen,
			Relaxed: f.Durability == "relaxed", Gates: append(bus.GatedStreams(), gates...), Reserve: s.disk.Reserve,
			Connections: s.connections, Authenticate: s.access.tokens.BusUser, TLS: s.access.certs.config(),
			Logger: co.log, Metrics: s.metrics}))
		s.closers.add(func() error { s.bus.Close(); return nil })
		s.conn = must.Get(s.bus.Connect())
	}
	s.closers.add(func() error { s.conn.Close(); return nil })
	must.Do(bus.RetryWhileAway(co.ctx, co.log, busWait, func() (err error) {
		s.ingest, err = ingest.New(co.ctx, ingest.Config{Name: s.name, Bus: s.bus, Conn: s.conn, Index: s.index,
			Segmenter: s.segmenter, Workers: processors(),
			Streams: bus.StreamsConfig{Plan: s.plan(), Others: gates, Bytes: f.Backlog << 20}, Logger: co.log,
			Metrics: s.metrics})
		return err
	}))
	must.Do(s.answerReindex())
	must.Do(s.announce())
}

func (f *serveFlags) openBrowse(co *stdio, s *service) {
	s.browse = must.Get(browse.Open(co.ctx, s.index, browse.Config{Words: console.IndexWords(s.segmenter),
		Logger: co.log, Metrics: s.metrics, Tell: func(silenced *browse.Silenced) error {
			payload, _ := json.Marshal(silenced) // strings and numbers: no error
			return s.conn.Publish(bus.SubjectSilenced, payload)
		}}))
	s.closers.add(s.browse.Close)
}

func (f *serveFlags) openAPI(co *stdio, s *service) {
	parts := console.Parts{Index: s.index, Ingest: s.ingest, Conn: s.conn, Browse: s.browse, Segmenter: s.segmenter,
		Tokens: s.access.tokens, Logger: co.log, Version: version,
		Ready: map[string]func() error{"exposure": s.exposureReady, "disk": s.disk.HasSpace}}
	s.api = must.Get(api.New(api.Config{Parts: parts, Exposure: s.exposure,
		TLS: s.access.certs.config(), AnyHost: f.Insecure, Room: s.disk.HasSpace,
		Console: &console.Config{Dir: s.dir, Rejudge: rejudge(s.dir, s.disk, f.segmentFlags), Free: s.disk.Free,
			Access: console.Access{Header: f.EditorHeader, RoleHeader: f.EditorRole, Proxies: s.access.proxies}},
		Metrics: s.metrics, Connections: s.connections}))
}

func (f *serveFlags) openMetrics(s *service) {
	s.metrics.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		s.clock.Collector(), buildInfo(s.index.Recipe, s.index.Policy().Hash()), freeSpace(s.disk))
	s.metrics.MustRegister(s.exposure.Collectors()...)
}

func (f *serveFlags) openExposure(co *stdio, s *service) {
	zone, err := time.LoadLocation(f.TimeZone)
	must.Dof(err, "--time-zone")
	s.stories = story.New()
	js := bus.JetStream(s.conn)
	var dead *bus.DeadLetters
	must.Do(bus.RetryWhileAway(co.ctx, co.log, busWait, func() error {
		if s.reports, err = eventlog.Open(co.ctx, js, f.logConfig(s), co.log); err == nil {
			dead, err = bus.OpenDead(co.ctx, s.conn, f.StreamPrefix)
		}
		return err
	}))
	shared := must.Get(f.openShared(co, s, js))
	s.exposure = must.Get(exposure.Open(co.ctx, exposure.Config{Path: filepath.Join(s.dir, datadir.Exposures),
		Log: s.reports, Shared: shared, Stories: s.stories,
		Policies: s.histories.Policies, Kinds: s.histories.Kinds, Scenes: s.histories.Scenes,
		Location: zone, Steady: s.clock, Relaxed: f.Durability == "relaxed", CacheBytes: f.ExposureCache << 20,
		FlushAge:   f.ExposureFlush,
		FailClosed: f.FailClosed, Logger: co.log,
		Dead: func(ctx context.Context, e eventlog.Entry, user string, reason error) error {
			l := bus.DeadLetter{Subject: e.Subject, Data: e.Data, Sequence: e.Seq, Arrived: e.Time,
				Reason: reason.Error()}
			if bad, ok := errors.AsType[*wire.Error](reason); ok {
				l.Field = bad.Field
			}
			return dead.BuryForUser(ctx, user, fmt.Sprintf("exposures-%d", e.Seq), &l, eventlog.ErasureDelay)
		},
		Forgotten: dead.Forget}))
	s.closers.add(s.exposure.Close)
	f.importOld(co, s, zone)
	must.Do(datadir.Record(s.dir))
	s.vital = must.Get(datadir.OpenVital(s.dir, co.log))
}

func freeSpace(d disk.Disk) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "jianguo_disk_free_bytes",
		Help: "Free where the data directory is."}, func() float64 {
		free, err := d.Free()
		if err != nil {
			return -1
		}
		return float64(free)
	})
}

// buildInfo is a metric with the version, recipe and policy of this service.
func buildInfo(recipe func() string, policy string) prometheus.Collector {
	d := prometheus.NewDesc("jianguo_build_info", "1, with version, recipe and policy as labels.", []string{"recipe"},
		prometheus.Labels{"version": version, "policy": policy})
	return prometheus.CollectorFunc(func(to chan<- prometheus.Metric) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, 1, recipe())
	})
}
