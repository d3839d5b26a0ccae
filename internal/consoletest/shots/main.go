// Command shots takes the pictures of docs/console.md: it runs a service on
// the sample corpus, lets three invented editors work on it for a while, and
// photographs every page in headless Chromium.
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
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"jianguo/api/console"
	"jianguo/index"
	"jianguo/internal/consoletest"
)

// shot is one picture, in Chinese and the light theme.
type shot struct {
	name, path string
	height     int64
}

const width = 1280

// shots are those that docs/console.md shows.
var shots = []shot{
	{"overview", "/?hours=48", 1180},
	{"item", "/console/item?id=kiln-reword", 1180},
	{"compare", "/console/compare?a=typhoon&b=typhoon-update", 760},
	{"cluster", "/console/cluster?id=1", 1150},
	{"suspects", "/console/suspects", 1000},
	{"sources", "/console/sources", 1000},
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
	r, err := consoletest.Start(ctx, consoletest.Config{Dir: filepath.Join(dir, "data"), Backdate: true, Console: func(c *console.Config) {
		c.Free = func() (uint64, error) { return 212 << 30, nil }
	}})
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
	join := "?"
	if strings.Contains(s.path, "?") {
		join = "&"
	}
	steps := []chromedp.Action[chromedp.Void]{
		chromedp.EmulateViewport(width, s.height),
		chromedp.Navigate(url + s.path + join + "lang=zh&theme=light"),
		chromedp.Sleep(400 * time.Millisecond),
	}
	if err := chromedp.Do(tab, steps...); err != nil {
		return err
	}
	picture, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	paint, err := chromedp.Run(tab,
		chromedp.Evaluate[float64](`performance.getEntriesByName("first-contentful-paint")[0].startTime`))
	if err != nil {
		return err
	}
	fmt.Printf("%-20s first contentful paint %4.0f ms\n", s.name, paint)
	if picture, err = small(picture); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, s.name+".png"), picture, 0o644)
}

// work makes a few weeks of editors' work.
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
	for _, p := range []index.Passage{{Text: "晨帆网，每天一早见", State: index.PassageIn, Reason: "页脚"},
		{Text: "本报记者", State: index.PassageOut}} {
		p.By = "林编辑"
		if err := r.Index.DecideBoilerplate(ctx, "晨帆网", p); err != nil {
			return err
		}
	}
	if err := r.Publish(ctx, []byte(`{"id":"broken","title":7,"body":"……"}`)); err == nil {
		return errors.New("a broken item was taken")
	}
	// Some of each day's draw, over the weeks since.
	n := 0
	for day := range 9 {
		drawn, err := r.Browse.Draw(ctx, index.DrawnRandom, ago(time.Duration(day)*24*time.Hour), 14)
		if err != nil {
			return err
		}
		for _, item := range drawn {
			n++
			finding := index.FoundRight
			if n%23 == 0 {
				finding = index.FoundWrong
			}
			if err := r.Index.Confirm(ctx, index.Review{At: ago(time.Duration(n%6) * 7 * 24 * time.Hour),
				By: []string{"林编辑", "吴编辑", "陈编辑"}[n%3], Item: item.ID,
				Drawn: index.DrawnRandom, Finding: finding}); err != nil {
				return err
			}
		}
	}
	return r.Browse.Follow(ctx)
}
