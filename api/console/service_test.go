package console_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jianguo/api"
	"jianguo/api/console"
	"jianguo/bus"
	"jianguo/data"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/disk"
	"jianguo/internal/fixture"
	"jianguo/internal/must"
)

// serviceConfig configures a service. Dir is required.
type serviceConfig struct {
	Dir string
	// Backdate adds the sample to the index as if each article had arrived when it
	// was published, and sets the clock to the end of it; else the sample is
	// published on the bus now.
	Backdate bool
	// Corpus is lines of items; nil: the sample.
	Corpus []byte
	Tokens string // as fixture.Tokens takes them; empty: no token is needed
	// Console changes the console's configuration; nil: nothing.
	Console func(*console.Config)
}

// service is a whole service on the sample corpus: the ingest path of package fixture, and the HTTP side with the
// console on a loopback port.
type service struct {
	*fixture.Pipeline
	URL    string
	Browse *browse.Model
	// Ahead is added to the console's clock, in nanoseconds.
	Ahead atomic.Int64
	Now   time.Time // where the clock began, if backdated
}

// startService starts a service and returns when every item has its verdict.
func startService(ctx context.Context, cfg serviceConfig) (*service, error) {
	p, err := fixture.Open(ctx, fixture.Config{Dir: cfg.Dir})
	if err != nil {
		return nil, err
	}
	r := &service{Pipeline: p}
	if err := must.Catch(func() { r.start(ctx, cfg) }); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// start starts all but the pipeline. It panics on errors (must), as does what it calls.
func (r *service) start(ctx context.Context, cfg serviceConfig) {
	r.Browse = must.Get(browse.Open(ctx, r.Index,
		browse.Config{Words: console.IndexWords(r.Segmenter), Poll: 50 * time.Millisecond}))
	r.OnClose(r.Browse.Close)
	r.Background("browse", func(ctx context.Context) error { r.Browse.Run(ctx); return nil })
	if cfg.Corpus == nil {
		cfg.Corpus = must.Get(data.FS.ReadFile("sample/corpus.jsonl"))
	}
	lines := bytes.Split(bytes.TrimSpace(cfg.Corpus), []byte("\n"))
	if cfg.Backdate {
		// Before the pipeline runs: it adds the last sequence of the index to those of the bus.
		r.backdate(ctx, lines)
	}
	r.Run()
	if !cfg.Backdate {
		js := bus.JetStream(r.Conn)
		for _, line := range lines {
			must.Get(fixture.Submit(ctx, js, bus.SubjectPublish, line))
		}
	}
	must.Do(r.Browse.Follow(ctx))
	r.serve(cfg)
}

// Publish sends one item over the bus, waits for its verdict, and for the lists
// to show it. The error says so where it became a dead letter.
func (r *service) Publish(ctx context.Context, payload []byte) error {
	o, err := fixture.Submit(ctx, bus.JetStream(r.Conn), bus.SubjectPublish, payload)
	if err != nil {
		return err
	}
	if o.Error != "" {
		return fmt.Errorf("%s %s", o.Field, o.Error)
	}
	return r.Browse.Follow(ctx)
}

// backdate adds the corpus as if it had arrived when it was published.
func (r *service) backdate(ctx context.Context, lines [][]byte) {
	at := time.Time{}
	for n, line := range lines {
		it := must.Get(ingest.DecodeItem(line))
		if it.Published != nil && it.Published.Add(2*time.Minute).After(at) {
			at = it.Published.Add(2 * time.Minute)
		}
		a := ingest.Prepare(r.Segmenter, it)
		must.Get(r.Index.Add(ctx, []index.Mutation{{Seq: uint64(n + 1), At: at, Article: a}}))
	}
	r.Now = at.Add(17 * time.Minute)
}

func noRejudge(context.Context, ...string) (*exec.Cmd, error) {
	return nil, errors.New("no rejudge in this test")
}

func (r *service) serve(cfg serviceConfig) {
	began := time.Now()
	cc := console.Config{Dir: cfg.Dir, Free: disk.Disk{Dir: cfg.Dir}.Free, Rejudge: noRejudge,
		Now: func() time.Time {
			now := time.Now()
			if !r.Now.IsZero() {
				now = r.Now.Add(now.Sub(began))
			}
			return now.Add(time.Duration(r.Ahead.Load()))
		}}
	ac := api.Config{Parts: console.Parts{Index: r.Index, Ingest: r.Ingest, Conn: r.Conn, Browse: r.Browse,
		Segmenter: r.Segmenter, Version: "sample"}, Console: &cc, Metrics: prometheus.NewRegistry(),
		Room: func() error { return nil }}
	if cfg.Tokens != "" {
		ac.Tokens = must.Get(fixture.Tokens(cfg.Tokens))
	}
	if cfg.Console != nil {
		cfg.Console(&cc)
		ac.Ready = cc.Ready
	}
	server, l := must.Get(api.New(ac)), must.Get(net.Listen("tcp", "127.0.0.1:0"))
	r.URL = "http://" + l.Addr().String()
	r.Background("Serve", func(ctx context.Context) error { return server.Serve(ctx, l) })
}
