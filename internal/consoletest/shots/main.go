// Command shots takes the pictures of docs/console.md: it runs a service on
// the sample corpus, lets invented editors decide a few things, and photographs
// pages in headless Chromium.
//
//	go run ./internal/consoletest/shots docs/console
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/chromedp"

	"jianguo/index"
	"jianguo/internal/consoletest"
)

// shot is one picture.
type shot struct {
	name, path    string
	width, height int64
}

var shots = []shot{
	{"overview", "/?lang=zh&theme=light", 1280, 1180},
	{"item", "/console/item?id=kiln-reword", 1280, 1180},
	{"compare", "/console/compare?a=typhoon&b=typhoon-update", 1280, 760},
	{"cluster", "/console/cluster?id=1", 1280, 1150},
	{"suspects", "/console/suspects", 1280, 1000},
	{"sources", "/console/sources", 1280, 1000},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: shots DIR")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) (err error) {
	dir, err := os.MkdirTemp("", "jianguo-shots-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r, err := consoletest.Start(ctx, consoletest.Config{Dir: filepath.Join(dir, "data"), Backdate: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := work(ctx, r); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return err
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath("chromium-headless-shell"), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(filepath.Join(dir, "chromium")),
		chromedp.Flag("disable-component-update", true))
	browser, cancel := chromedp.NewExecAllocator(ctx, options...)
	defer cancel()
	tab, cancel := chromedp.NewContext(browser)
	defer cancel()
	for _, s := range shots {
		if err := take(tab, r.URL, out, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func take(tab context.Context, url, out string, s shot) error {
	if err := chromedp.Do(tab, chromedp.EmulateViewport(s.width, s.height), chromedp.Navigate(url+s.path),
		chromedp.Sleep(400*time.Millisecond)); err != nil {
		return err
	}
	picture, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, s.name+".png"), picture, 0o644)
}

// work makes decisions of editors, so that the pages have some to show.
func work(ctx context.Context, r *consoletest.Service) error {
	ago := func(d time.Duration) time.Time { return r.Now.Add(-d) }
	for _, d := range []index.DecisionRequest{
		{Kind: index.Release, Item: "fishpond-reword", By: "林编辑", Reason: "作者本人授权修订稿", At: ago(26 * time.Hour)},
		{Kind: index.Block, Item: "healthfraud", By: "吴编辑", Reason: "来源要求下线", At: ago(20 * time.Hour)},
		{Kind: index.Undo, Undo: 2, By: "吴编辑", Reason: "来源撤回要求", At: ago(19 * time.Hour)},
		{Kind: index.MakeLead, Item: "kitten-reword", By: "陈编辑", At: ago(3 * time.Hour)},
	} {
		if _, err := r.Index.Decide(ctx, d); err != nil {
			return err
		}
	}
	for _, p := range [][2]string{{"晨帆网", index.SourceLicensed}, {"海岬气象台", index.SourcePreferred},
		{"众览客户端", index.SourceWatched}} {
		if err := r.Index.SetSourcePolicy(ctx,
			index.SourcePolicy{At: ago(50 * time.Hour), By: "林编辑", Source: p[0], Policy: p[1]}); err != nil {
			return err
		}
	}
	return r.Browse.Follow(ctx)
}
