package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"jianguo/api"
	"jianguo/api/console"
	"jianguo/exposure"
	"jianguo/index"
	"jianguo/ingest"
)

// serveFlags are what `serve` and `demo` have in common.
type serveFlags struct {
	Listen       string   `help:"Address of HTTP and the console." default:"127.0.0.1:8080"`
	NATS         string   `name:"nats" help:"Use this bus instead of the embedded one." placeholder:"URL"`
	NATSCreds    string   `name:"nats-creds" help:"Credentials for a bus elsewhere; a token or password may also stand in its URL." type:"existingfile" placeholder:"FILE"`
	NATSListen   string   `name:"nats-listen" help:"Address of the embedded bus; empty: in-process only." default:"127.0.0.1:4222"`
	Durability   string   `help:"What an acknowledgement means: ${enum}. synced: fsynced; relaxed: the operating system has it." enum:"synced,relaxed" default:"synced"`
	NoTexts      bool     `help:"Do not keep bodies: no side-by-side view, and judging on sketches only."`
	Language     string   `help:"Language of the reasons in events: ${enum}." enum:"zh,en" default:"zh"`
	Tokens       string   `help:"File of tokens: a line each of name, role (platform, recall, editor, operator) and token." type:"existingfile" placeholder:"FILE"`
	EditorHeader string   `help:"Header in which a trusted proxy names the editor who is signed in." placeholder:"NAME"`
	EditorRole   string   `name:"editor-role-header" help:"Header in which it says their role: editor or operator; without it they are editors." placeholder:"NAME"`
	EditorProxy  []string `name:"editor-proxy" help:"Address or network of that proxy, as 10.1.2.0/24; none: loopback." placeholder:"NETWORK"`
	Insecure     bool     `help:"Without tokens, allow listening beyond loopback and requests for any host name."`

	ExposurePolicy string            `help:"How exposures are kept: 'rotate' or 'calendar', with options." default:"rotate" placeholder:"POLICY"`
	ExposureCache  int64             `help:"Memory for users that are asked about, in MiB." default:"256"`
	Histories      map[string]string `help:"Further histories with policies of their own, as video=calendar;ads=rotate." placeholder:"NAME=POLICY;..."`
	Scenes         map[string]string `help:"Which history a scene goes into; a scene not named goes into the default one." placeholder:"SCENE=HISTORY;..."`
	SnapshotEvery  int64             `help:"Least number of events between two snapshots of what is resident; besides, an eighth of all." default:"200000"`
	TimeZone       string            `help:"Time zone of days and months." default:"Asia/Shanghai"`
	FailClosed     bool              `help:"A filter that cannot be computed answers nothing instead of everything."`

	policyFlags
	segmentFlags
}

type serveCmd struct {
	Data string `help:"The data directory; created if missing." default:"${data}" placeholder:"DIR"`
	serveFlags
}

// Run serves until the process is told to stop.
func (c *serveCmd) Run(co *streams) error {
	s, err := c.open(co, "serve", c.Data)
	if errors.Is(err, context.Canceled) {
		return nil // told to stop before it had begun
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(co.err, "jianguo %s: http://%s  bus %s  data %s  durability %s\n", version, s.http.Addr(), orNone(s.house.natsURL()), c.Data, c.Durability)
	return s.run(co.ctx)
}

func orNone(s string) string {
	if s == "" {
		return "in-process"
	}
	return s
}

// service is everything that runs.
type service struct {
	house    *house
	exposure *exposure.Store
	browse   *index.Browse
	api      *api.Server
	http     net.Listener
}

// open assembles the service; nothing runs before run.
func (f *serveFlags) open(co *streams, command, dir string) (_ *service, err error) {
	var tokens api.Tokens
	if f.Tokens != "" {
		if tokens, err = readTokens(f.Tokens); err != nil {
			return nil, err
		}
	}
	proxies, err := networks(f.EditorProxy)
	if err != nil {
		return nil, err
	}
	if err := api.CheckListen(f.Listen, tokens.Len() > 0, f.Insecure); err != nil {
		return nil, err
	}
	if f.NATS == "" && f.NATSListen != "" {
		if err := api.CheckListen(f.NATSListen, tokens.Len() > 0, f.Insecure); err != nil {
			return nil, fmt.Errorf("bus: %w", err)
		}
	}
	s := new(service)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.http, err = net.Listen("tcp", f.Listen); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s.house, err = openHouse(co, houseConfig{Command: command, Data: dir, HTTP: "http://" + s.http.Addr().String(), NATS: f.NATS, NATSCreds: f.NATSCreds, NATSListen: f.NATSListen, NATSUsers: busUsers(tokens),
		Relaxed: f.Durability == "relaxed", DropTexts: f.NoTexts, Language: f.Language, Policy: f.policy(), SnapshotEvery: f.SnapshotEvery, Segment: f.segmentFlags})
	if err != nil {
		return nil, err
	}
	if err := f.openExposure(co, s, dir); err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	if s.browse, err = s.house.index.OpenBrowse(co.ctx, index.BrowseConfig{Words: console.IndexWords(s.house.segmenter), Logger: co.log}); err != nil {
		return nil, err
	}
	s.api, err = api.New(api.Config{Index: s.house.index, Ingest: s.house.ingest, Conn: s.house.conn, Logger: co.log, Gatherer: registry,
		Browse: s.browse, Find: console.Finder(s.browse, s.house.segmenter),
		Tokens: tokens, AnyHost: f.Insecure, Version: version, Console: f.console(s, co, dir, tokens, proxies), Ready: map[string]func() error{"exposure": s.exposureReady}})
	if err != nil {
		return nil, err
	}
	s.api.AddExposure(s.exposure)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, part := range [][]prometheus.Collector{s.house.index.Collectors(), s.house.ingest.Collectors(), s.exposure.Collectors(), s.api.Collectors()} {
		registry.MustRegister(part...)
	}
	return s, nil
}

// console mounts the editors' pages.
func (f *serveFlags) console(s *service, co *streams, dir string, tokens api.Tokens, proxies []netip.Prefix) func(*echo.Echo, echo.MiddlewareFunc, <-chan struct{}) error {
	cfg := console.Config{Index: s.house.index, Browse: s.browse, Segmenter: s.house.segmenter, Ingest: s.house.ingest, Conn: s.house.conn,
		Dir: dir, Logger: co.log, Version: version, Header: f.EditorHeader, RoleHeader: f.EditorRole, Proxies: proxies}
	if tokens.Len() > 0 {
		cfg.Authenticate = tokens.Authenticate
	}
	return func(e *echo.Echo, bound echo.MiddlewareFunc, done <-chan struct{}) error {
		cfg.Done, cfg.Middleware = done, []echo.MiddlewareFunc{bound}
		return console.Register(e, cfg)
	}
}

// busUsers are who may use the embedded bus; nil: everybody.
func busUsers(tokens api.Tokens) func(string) (ingest.BusUser, bool) {
	if tokens.Len() == 0 {
		return nil
	}
	return tokens.BusUser
}

// networks reads addresses and networks.
func networks(list []string) (out []netip.Prefix, err error) {
	for _, text := range list {
		prefix, err := netip.ParsePrefix(text)
		if addr, aerr := netip.ParseAddr(text); aerr == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("--editor-proxy %q: want an address or a network, as 10.1.2.0/24", text)
		}
		out = append(out, prefix)
	}
	return out, nil
}

func readTokens(name string) (api.Tokens, error) {
	file, err := os.Open(name)
	if err != nil {
		return api.Tokens{}, err
	}
	defer file.Close()
	tokens, err := api.ReadTokens(file)
	if err != nil {
		return tokens, fmt.Errorf("%s: %w", name, err)
	}
	return tokens, nil
}

func (f *serveFlags) openExposure(co *streams, s *service, dir string) error {
	policy, err := exposure.ParsePolicy(f.ExposurePolicy)
	if err != nil {
		return err
	}
	policies := map[string]exposure.Policy{"": policy}
	for name, text := range f.Histories {
		if policies[name], err = exposure.ParsePolicy(text); err != nil {
			return fmt.Errorf("history %s: %w", name, err)
		}
	}
	zone, err := time.LoadLocation(f.TimeZone)
	if err != nil {
		return fmt.Errorf("time zone: %w", err)
	}
	durability := exposure.Synced
	if f.Durability == "relaxed" {
		durability = exposure.Relaxed
	}
	js, err := jetstream.New(s.house.conn)
	if err != nil {
		return err
	}
	log, err := exposure.OpenNATSLog(co.ctx, js, exposure.StreamConfig{}, co.log)
	if err != nil {
		return err
	}
	s.exposure, err = exposure.Open(co.ctx, exposure.Config{Path: filepath.Join(dir, exposureFile), Log: log, Policies: policies, Scenes: f.Scenes,
		Location: zone, Durability: durability, CacheBytes: f.ExposureCache << 20, FailClosed: f.FailClosed, Logger: co.log})
	return err
}

func (s *service) exposureReady() error {
	if !s.exposure.Ready() {
		return errors.New("exposure: what was reported before the start is still being applied")
	}
	return nil
}

// exposureFile is the state of users inside the data directory.
const exposureFile = "exposure.db"

// run serves until ctx is done, then lets what has begun finish and closes.
func (s *service) run(ctx context.Context) error {
	g, failed := errgroup.WithContext(ctx)
	// HTTP ends first, then the ingest that its last requests wait for.
	served := make(chan struct{})
	g.Go(func() error {
		defer close(served)
		return s.api.Serve(failed, s.http)
	})
	ingesting, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.Go(func() error { defer stop(); <-served; return nil })
	g.Go(func() error { return s.house.ingest.Run(ingesting) })
	g.Go(func() error { s.follow(failed); return nil })
	err := g.Wait()
	return errors.Join(err, s.close())
}

// follow keeps what editors browse up to the catalogue. Trouble with that file
// is no reason to stop taking items.
func (s *service) follow(ctx context.Context) {
	for {
		err := s.browse.Run(ctx)
		if err == nil {
			return
		}
		s.house.log.ErrorContext(ctx, "the console lags behind", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Second):
		}
	}
}

func (s *service) close() error {
	var errs []error
	if s.exposure != nil {
		errs = append(errs, s.exposure.Close())
	}
	if s.browse != nil {
		errs = append(errs, s.browse.Close())
	}
	if s.house != nil {
		errs = append(errs, s.house.Close())
	}
	if s.http != nil {
		// Serve has closed it, unless nothing was served.
		_ = s.http.Close()
	}
	return errors.Join(errs...)
}
