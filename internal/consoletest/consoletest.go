// Package consoletest runs a whole service on the sample corpus, for the
// console's tests: the ingest path of package fixture, and the HTTP
// side with the console on a loopback port.
package consoletest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"jianguo/api"
	"jianguo/api/console"
	"jianguo/bus"
	"jianguo/data"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/fixture"
	"jianguo/segment"
)

// Config configures a Service. Dir is required.
type Config struct {
	Dir       string
	Segmenter *segment.Segmenter // nil: one of the shipped tables
	// Backdate adds the sample to the index as if each article had arrived when it
	// was published, and sets the clock to the end of it; else the sample is
	// published on the bus now.
	Backdate bool
	// Corpus is lines of items; nil: the sample.
	Corpus []byte
	// Tokens maps tokens to names. A name that begins with "ops" is an operator's,
	// any other an editor's. nil: no token is needed.
	Tokens map[string]string
	// Console changes the console's configuration; nil: nothing.
	Console func(*console.Config)
	Logger  *slog.Logger
}

// Service is a running service.
type Service struct {
	*fixture.Pipeline
	URL    string
	Browse *browse.Model
	// Ahead is added to the console's clock, in nanoseconds.
	Ahead atomic.Int64
	Now   time.Time // where the clock began, if backdated
}

// Start starts a service and returns when every item has its verdict.
func Start(ctx context.Context, cfg Config) (_ *Service, err error) {
	r := new(Service)
	if r.Pipeline, err = fixture.Open(ctx, fixture.Config{Dir: cfg.Dir, Segmenter: cfg.Segmenter,
		Index: func(c *index.Config) {
			p := index.DefaultPolicy()
			p.Rules = index.RulesJianguo
			c.Policy, c.Logger = &p, cfg.Logger
		},
		Ingest: func(c *ingest.Config) { c.Logger = cfg.Logger }}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if r.Browse, err = browse.Open(ctx, r.Index,
		browse.Config{Words: console.IndexWords(r.Segmenter), Poll: 50 * time.Millisecond,
			Logger: cfg.Logger}); err != nil {
		return nil, err
	}
	r.OnClose(r.Browse.Close)
	r.Background("browse", r.Browse.Run)
	if cfg.Corpus == nil {
		if cfg.Corpus, err = data.FS.ReadFile("sample/corpus.jsonl"); err != nil {
			return nil, err
		}
	}
	if cfg.Backdate {
		// Before the pipeline runs: it adds the last sequence of the index to those of the bus.
		if err = r.backdate(ctx, cfg.Corpus); err != nil {
			return nil, err
		}
		r.Run()
	} else {
		r.Run()
		if err = r.publish(ctx, cfg.Corpus); err != nil {
			return nil, err
		}
	}
	if err := r.Browse.Follow(ctx); err != nil {
		return nil, err
	}
	return r, r.serve(cfg)
}

// Publish sends one item over the bus, waits for its verdict, and for the lists
// to show it. The error says so where it became a dead letter.
func (r *Service) Publish(ctx context.Context, payload []byte) error {
	o, err := fixture.Submit(ctx, bus.JetStream(r.Conn), bus.SubjectPublish, payload)
	if err != nil {
		return err
	}
	if o.Error != "" {
		return fmt.Errorf("%s %s", o.Field, o.Error)
	}
	return r.Browse.Follow(ctx)
}

// publish sends the corpus over the bus and waits for the last verdict.
func (r *Service) publish(ctx context.Context, corpus []byte) error {
	js := bus.JetStream(r.Conn)
	return lines(corpus, func(line []byte) error {
		_, err := fixture.Submit(ctx, js, bus.SubjectPublish, line)
		return err
	})
}

// backdate adds the corpus as if it had arrived when it was published.
func (r *Service) backdate(ctx context.Context, corpus []byte) error {
	var seq uint64
	at := time.Time{}
	err := lines(corpus, func(line []byte) error {
		it, err := ingest.DecodeItem(line)
		if err != nil {
			return err
		}
		if it.Published != nil && it.Published.Add(2*time.Minute).After(at) {
			at = it.Published.Add(2 * time.Minute)
		}
		seq++
		a := ingest.Prepare(r.Segmenter, it)
		a.Packed = index.PackText(it.Body)
		_, err = r.Index.Add(ctx, []index.Mutation{{Seq: seq, At: at, Article: a}})
		return err
	})
	r.Now = at.Add(17 * time.Minute)
	return err
}

func lines(corpus []byte, f func([]byte) error) error {
	for n, line := range bytes.Split(bytes.TrimSpace(corpus), []byte("\n")) {
		if err := f(line); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return nil
}

func (r *Service) serve(cfg Config) error {
	began := time.Now()
	cc := console.Config{Index: r.Index, Browse: r.Browse, Segmenter: r.Segmenter, Ingest: r.Ingest, Conn: r.Conn,
		Dir: cfg.Dir, Logger: cfg.Logger, Version: "sample",
		Now: func() time.Time {
			now := time.Now()
			if !r.Now.IsZero() {
				now = r.Now.Add(now.Sub(began))
			}
			return now.Add(time.Duration(r.Ahead.Load()))
		}}
	ac := api.Config{Index: r.Index, Ingest: r.Ingest, Conn: r.Conn, Browse: r.Browse,
		Find: console.Finder(r.Browse, r.Segmenter), Logger: cfg.Logger,
		Gatherer: prometheus.NewRegistry(), Room: func() error { return nil }}
	if cfg.Tokens != nil {
		var list strings.Builder
		for token, name := range cfg.Tokens {
			role := "editor"
			if strings.HasPrefix(name, "ops") {
				role = "operator"
			}
			fmt.Fprintln(&list, name, role, token)
		}
		var err error
		if ac.Tokens, err = fixture.Tokens(list.String()); err != nil {
			return err
		}
		cc.Access.Tokens = ac.Tokens
	}
	if cfg.Console != nil {
		cfg.Console(&cc)
	}
	ac.Console = func(e *echo.Echo, bound api.Bound, done <-chan struct{}) error {
		cc.Bound, cc.Done = bound, done
		return console.Register(e, cc)
	}
	server, err := api.New(ac)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r.URL = "http://" + l.Addr().String()
	r.Background("Serve", func(ctx context.Context) error { return server.Serve(ctx, l) })
	return nil
}
