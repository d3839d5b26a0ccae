// Command consoleseed fills a data directory with a million generated items in stories
// of all sizes, and measures the time that the server takes for each page of the console.
//
//	go run ./cmd/jianguo-bench/consoleseed -items 1000000 DIR
//
// It measures an existing directory without changing it. Texts and headlines consist of
// common words. Fingerprints are drawn at random instead of computed, so that a million
// items take minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/api/console"
	"jianguo/data"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/segment"
)

func main() {
	items := flag.Int("items", 1_000_000, "how many items an empty directory is filled with")
	rounds := flag.Int("rounds", 60, "how often each page is asked for")
	only := flag.String("only", "", "measure pages with this in their names")
	profile := flag.String("profile", "", "write a processor profile of the pages to this `file`")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: seed [-items N] [-rounds N] DIR")
		os.Exit(2)
	}
	if err := run(context.Background(), flag.Arg(0), *items, pages{*rounds, *only, *profile}); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

// pages are the pages to measure.
type pages struct {
	rounds        int
	only, profile string
}

func run(ctx context.Context, dir string, items int, what pages) (err error) {
	seg, err := segment.New(segment.Config{Data: data.FS})
	if err != nil {
		return err
	}
	x, err := index.Open(ctx, index.Config{Dir: dir, Relaxed: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	if applied, _ := x.Applied(); applied == 0 {
		if err := fill(ctx, x, seg, items); err != nil {
			return err
		}
	}
	b, err := browse.Open(ctx, x.View(), browse.Config{Words: console.IndexWords(seg), Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	began := time.Now()
	lag, search, err := b.Lag(ctx)
	if err != nil {
		return err
	}
	if err := b.FollowLists(ctx); err != nil {
		return err
	}
	if took := time.Since(began); lag > 0 {
		fmt.Printf("lists followed %d events in %.1f s (%.0f/s)\n", lag, took.Seconds(), float64(lag)/took.Seconds())
	}
	began = time.Now()
	if err := b.Follow(ctx); err != nil {
		return err
	}
	if took := time.Since(began); search > 0 {
		fmt.Printf("search followed %d events in %.1f s (%.0f/s)\n", search, took.Seconds(), float64(search)/took.Seconds())
	}
	for _, name := range []string{index.FileName, browse.FileName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		_, events := x.Applied()
		fmt.Printf("%-10s %.0f bytes an item\n", name, float64(info.Size())/float64(events))
	}
	if what.profile != "" {
		f, err := os.Create(what.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return measure(ctx, x, b, seg, dir, what)
}

// address makes addresses of a kind of page.
type address struct {
	name string
	path func() string
}

// addresses are the kinds of pages that are measured.
func addresses(ctx context.Context, x *index.Index, b *browse.Model) ([]address, error) {
	page, err := b.Stories(ctx, browse.StoryQuery{Sort: "size", Limit: 100})
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(1, 1))
	_, events := x.Applied()
	item := func() string { return fmt.Sprintf("item-%d", 1+r.IntN(int(events))) }
	story := func() uint32 { return page.Stories[r.IntN(len(page.Stories))].ID }
	word := func() string { return url.QueryEscape(places[r.IntN(len(places))] + objects[r.IntN(len(objects))]) }
	return []address{
		{"/", func() string { return "/" }},
		{"/console/item", func() string { return "/console/item?id=" + item() }},
		{"/console/clusters by growth", func() string { return "/console/clusters" }},
		{"/console/clusters by size", func() string { return "/console/clusters?sort=size" }},
		{"/console/clusters of a source", func() string { return fmt.Sprintf("/console/clusters?source=来源%03d", r.IntN(200)) }},
		{"/console/clusters of a source, by size, large", func() string {
			return fmt.Sprintf("/console/clusters?source=来源%03d&sort=size&size=20", r.IntN(200))
		}},
		{"/console/clusters of a source, by size, many", func() string {
			return fmt.Sprintf("/console/clusters?source=来源%03d&sort=first&size=8", r.IntN(5))
		}},
		{"/console/clusters of a day, by size", func() string { return "/console/clusters?since=24&sort=size" }},
		{"/console/clusters by a rule", func() string { return "/console/clusters?rule=margin&sort=last" }},
		{"/console/clusters by a rare rule", func() string { return "/console/clusters?rule=blocked&sort=first" }},
		{"/console/clusters with words", func() string { return "/console/clusters?words=" + word() }},
		{"/console/cluster (the 100 largest)", func() string { return fmt.Sprintf("/console/cluster?id=%d", story()) }},
		{"/console/suspects", func() string { return "/console/suspects" }},
		{"/console/review, least certain", func() string { return "/console/review?drawn=doubt" }},
		{"/console/review, at random", func() string { return "/console/review" }},
		{"/console/sources", func() string { return "/console/sources" }},
		{"/console/search, two words", func() string { return "/console/search?q=" + word() }},
		{"/console/search, two characters", func() string { return "/console/search?q=" + url.QueryEscape("预警") }},
		{"/console/search, an address", func() string {
			return "/console/search?q=" + url.QueryEscape(fmt.Sprintf("https://example.cn/%d.html", 1+r.IntN(int(events))))
		}},
		{"/console/decisions", func() string { return "/console/decisions" }},
		{"/console/operators", func() string { return "/console/operators" }},
	}, nil
}

func measure(ctx context.Context, x *index.Index, b *browse.Model, seg *segment.Segmenter, dir string, what pages) error {
	e := echo.New()
	if err := console.Register(e, console.Config{Index: x, Browse: b, Segmenter: seg, Dir: dir}); err != nil {
		return err
	}
	all, err := addresses(ctx, x, b)
	if err != nil {
		return err
	}
	fmt.Printf("%-46s %9s %9s %9s %9s\n", "page", "median", "p95", "worst", "bytes")
	for _, p := range all {
		if !strings.Contains(p.name, what.only) {
			continue
		}
		var took []time.Duration
		size := 0
		for range what.rounds {
			req := httptest.NewRequestWithContext(ctx, http.MethodGet, p.path(), nil)
			rec := httptest.NewRecorder()
			began := time.Now()
			e.ServeHTTP(rec, req)
			took = append(took, time.Since(began))
			if rec.Code >= 400 {
				return fmt.Errorf("%s: %d: %s", req.URL, rec.Code, rec.Body)
			}
			size = max(size, rec.Body.Len())
		}
		slices.Sort(took)
		ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
		fmt.Printf("%-46s %9s %9s %9s %9d\n", p.name, ms(took[len(took)/2]), ms(took[len(took)*95/100]), ms(took[len(took)-1]), size)
	}
	return nil
}
