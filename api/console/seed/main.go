// Command seed fills a data directory with a million invented items, most of
// them copies in stories of all sizes, and measures how long the server takes
// for each page of the console on it.
//
//	go run ./api/console/seed -items 1000000 DIR
//
// An existing directory is measured as it is. The items have texts and
// headlines made of common words; their fingerprints are drawn, not computed,
// which is what makes a million of them a matter of minutes.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/api/console"
	"jianguo/data"
	"jianguo/index"
	"jianguo/segment"
	"jianguo/simhash"
	"jianguo/sketch"
)

func main() {
	items := flag.Int("items", 1_000_000, "how many items an empty directory is filled with")
	rounds := flag.Int("rounds", 60, "how often each page is asked for")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: seed [-items N] [-rounds N] DIR")
		os.Exit(2)
	}
	if err := run(context.Background(), flag.Arg(0), *items, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, items, rounds int) (err error) {
	seg, err := segment.New(segment.Config{Data: data.FS})
	if err != nil {
		return err
	}
	policy := index.DefaultPolicy()
	policy.Rules = index.RulesHamming
	x, err := index.Open(ctx, index.Config{Dir: dir, Policy: &policy, Durability: index.DurabilityRelaxed})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	if applied, _ := x.Applied(); applied == 0 {
		if err := fill(ctx, x, items); err != nil {
			return err
		}
	}
	b, err := x.OpenBrowse(ctx, index.BrowseConfig{Words: console.IndexWords(seg)})
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
	for _, name := range []string{index.FileName, index.BrowseFileName, index.WordsFileName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		_, events := x.Applied()
		fmt.Printf("%-10s %.0f bytes an item\n", name, float64(info.Size())/float64(events))
	}
	return measure(ctx, x, b, seg, dir, rounds)
}

var (
	subjects = strings.Fields("市政府 气象台 法院 研究所 大学 博物馆 医院 消防队 公安局 税务局 交通局 农业部门 银行 电力公司 图书馆 动物园 体育局 铁路部门 水务局 文化馆")
	acts     = strings.Fields("发布 公布 启动 完成 推进 检查 调整 恢复 关闭 扩建 修复 通报 查处 试点 招募 表彰 宣布 延长 取消 升级")
	objects  = strings.Fields("暴雨预警 招生计划 地铁线路 医保政策 停水通知 道路施工 食品抽检 考古成果 夏粮收购 电价方案 新航线 防汛演练 公租房 体育赛事 图书借阅 垃圾分类 旅游专列 养老服务 科技项目 生态修复")
	places   = strings.Fields("海岬 江澜 青禾 云崖 朔原 南屏 澜东 掌山 枫湾 柳港")
)

func headline(r *rand.Rand) string {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	return fmt.Sprintf("%s%s%s%s 第%d号", pick(places), pick(subjects), pick(acts), pick(objects), r.IntN(100_000))
}

// vocabulary is the words of the table of document frequencies, the most
// frequent first.
func vocabulary() (words []string, err error) {
	table, err := data.FS.ReadFile("tables/df.txt")
	if err != nil {
		return nil, err
	}
	type entry struct {
		word string
		n    int
	}
	var entries []entry
	for line := range strings.Lines(string(table)) {
		var e entry
		if n, err := fmt.Sscan(line, &e.word, &e.n); err == nil && n == 2 {
			entries = append(entries, e)
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return b.n - a.n })
	for _, e := range entries {
		words = append(words, e.word)
	}
	if len(words) == 0 {
		return nil, errors.New("the table of document frequencies has no words")
	}
	return words, nil
}

// prose is about n characters of words, the common ones most often, as in
// texts: the frequency of a word falls with its rank.
func prose(r *rand.Rand, words []string, n int) string {
	var b strings.Builder
	for k := 0; b.Len() < 3*n; k++ {
		b.WriteString(words[int(math.Exp(r.Float64()*math.Log(float64(len(words)))))%len(words)])
		if k%9 == 8 {
			b.WriteString("，")
		}
		if k%40 == 39 {
			b.WriteString("。\n")
		}
	}
	return b.String()
}

// origin is an item that others copy.
type origin struct {
	title, body string
	exact       [16]byte
	print       simhash.Print
	published   time.Time
}

func fill(ctx context.Context, x *index.Index, items int) error {
	words, err := vocabulary()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(6, 2025))
	at := time.Now().Add(-30 * 24 * time.Hour)
	step := 30 * 24 * time.Hour / time.Duration(items)
	empty := sketch.Make(sketch.Input{})
	var recent, loud []*origin
	began := time.Now()
	for seq := 1; seq <= items; {
		var batch []index.Mutation
		for ; len(batch) < 1000 && seq <= items; seq++ {
			at = at.Add(step)
			var o *origin
			if len(recent) > 100 && len(loud) > 0 && r.IntN(100) < 35 {
				// Most stories are copied a few times, a few all the time.
				o = recent[len(recent)-1-int(float64(len(recent))*r.Float64()*r.Float64())]
				if r.IntN(4) == 0 {
					o = loud[int(float64(len(loud))*r.Float64()*r.Float64())]
				}
			} else {
				o = &origin{title: headline(r), published: at.Add(-time.Duration(r.IntN(600)) * time.Second)}
				o.body = o.title + "。\n" + prose(r, words, 700)
				binary.LittleEndian.PutUint64(o.exact[:], r.Uint64())
				binary.LittleEndian.PutUint64(o.exact[8:], r.Uint64())
				o.print.Fingerprint = simhash.Fingerprint(r.Uint64())
				for i := range o.print.Margins {
					o.print.Margins[i] = 1
				}
				if seq%5000 == 1 {
					loud = append([]*origin{o}, loud[:min(len(loud), 30)]...)
				}
				if recent = append(recent, o); len(recent) > 20_000 {
					recent = slices.Clone(recent[10_000:])
				}
			}
			a := &index.Article{ID: fmt.Sprintf("item-%d", seq), Title: o.title, Source: fmt.Sprintf("来源%03d", int(200*r.Float64()*r.Float64())),
				URL: fmt.Sprintf("https://example.cn/%d.html", seq), Published: o.published.Add(time.Duration(r.IntN(7200)) * time.Second),
				Packed: index.PackText(o.body), Exact: o.exact, Print: o.print, Sketch: empty}
			if r.IntN(4) == 0 {
				a.Exact[0]++ // found by its fingerprint
			}
			batch = append(batch, index.Mutation{Seq: uint64(seq), At: at, Article: a})
		}
		if _, err := x.Add(ctx, batch); err != nil {
			return err
		}
	}
	fmt.Printf("%d items in %.1f s\n", items, time.Since(began).Seconds())
	return nil
}

func measure(ctx context.Context, x *index.Index, b *index.Browse, seg *segment.Segmenter, dir string, rounds int) error {
	e := echo.New()
	if err := console.Register(e, console.Config{Index: x, Browse: b, Segmenter: seg, Dir: dir}); err != nil {
		return err
	}
	page, err := b.Stories(ctx, index.StoryQuery{Sort: "size", Limit: 100})
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 1))
	_, events := x.Applied()
	item := func() string { return fmt.Sprintf("item-%d", 1+r.IntN(int(events))) }
	story := func() uint32 { return page.Stories[r.IntN(len(page.Stories))].ID }
	word := func() string { return url.QueryEscape(places[r.IntN(len(places))] + objects[r.IntN(len(objects))]) }
	fmt.Printf("%-46s %9s %9s %9s %9s\n", "page", "median", "p95", "worst", "bytes")
	for _, p := range []struct {
		name string
		path func() string
	}{
		{"/", func() string { return "/" }},
		{"/console/item", func() string { return "/console/item?id=" + item() }},
		{"/console/clusters by growth", func() string { return "/console/clusters" }},
		{"/console/clusters by size", func() string { return "/console/clusters?sort=size" }},
		{"/console/clusters of a source", func() string { return fmt.Sprintf("/console/clusters?source=来源%03d", r.IntN(200)) }},
		{"/console/clusters of a source, by size, large", func() string {
			return fmt.Sprintf("/console/clusters?source=来源%03d&sort=size&size=20", r.IntN(200))
		}},
		{"/console/clusters by a rule", func() string { return "/console/clusters?rule=hamming&sort=last" }},
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
	} {
		var took []time.Duration
		size := 0
		for range rounds {
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
