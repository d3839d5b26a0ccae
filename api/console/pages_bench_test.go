package console_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"jianguo/api/console"
	"jianguo/compare"
	"jianguo/data"
	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/ingest"
	"jianguo/internal/disk"
	"jianguo/internal/fixture"
	"jianguo/internal/testbed"
	"jianguo/segment"
	"jianguo/simhash"
)

const seedItems = 100_000

// unbound is for a console without an API around it.
func unbound(func(echo.Context) bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc { return next }
}

// BenchmarkPages asks for every kind of page on seedItems generated items: one in three is a copy, in stories of all
// sizes, and one in fifty a suspect (`make console-seed`). A page has 50 ms at the 95th percentile, a search 100, and 60 KB.
func BenchmarkPages(b *testing.B) {
	ctx, dir := b.Context(), b.TempDir()
	seg, err := segment.New(segment.Config{Data: data.FS})
	testbed.OK(b, err)
	r, err := fixture.Open(ctx, fixture.Config{Dir: dir})
	testbed.OK(b, err)
	b.Cleanup(func() { r.Close() })
	x := r.Index
	seed(b, x, seg)
	model, err := browse.Open(ctx, x, browse.Config{Words: console.IndexWords(seg)})
	testbed.OK(b, err)
	b.Cleanup(func() { model.Close() })
	start := time.Now()
	testbed.OK(b, model.FollowLists(ctx))
	lists := time.Since(start)
	testbed.OK(b, model.Follow(ctx))
	waiting, err := model.Waiting(ctx)
	if err != nil || waiting == 0 {
		b.Fatalf("%d suspects wait: %v", waiting, err)
	}
	b.Logf("%d items, %d suspects: lists followed in %s, search in %s", seedItems, waiting, lists, time.Since(start)-lists)
	e := echo.New()
	if err := console.Register(e, console.Config{Dir: dir, Free: disk.Disk{Dir: dir}.Free, Bound: unbound, Ending: ctx,
		Parts:   console.Parts{Index: x, Browse: model, Segmenter: seg, Ingest: r.Ingest, Conn: r.Conn, Logger: slog.New(slog.DiscardHandler)},
		Rejudge: func(context.Context, ...string) (*exec.Cmd, error) { return nil, errors.New("not here") }}); err != nil {
		b.Fatal(err)
	}
	largest, err := model.Clusters(ctx, browse.ClusterQuery{Sort: "size", Limit: 100})
	testbed.OK(b, err)
	for _, path := range []string{"/", "/console/item?id=item-%item", "/console/clusters", "/console/clusters?sort=size",
		"/console/clusters?source=来源%source", "/console/clusters?source=来源%source&sort=size&size=20",
		"/console/clusters?since=24&sort=size", "/console/clusters?sort=first", "/console/clusters?words=%words", "/console/cluster?id=%story",
		"/console/suspects", "/console/suspects?sort=new", "/console/review", "/console/review?original=1", "/console/sources", "/console/source?name=来源%source",
		"/console/source?copies=all&name=来源%source", "/console/into?cluster=%story&into=%words", "/console/compare?a=item-%item&b=item-1",
		"/console/search?q=%words", "/console/search?q=预警", "/console/search?q=%excerpt", "/console/search?q=%body", "/console/decisions", "/console/operators"} {
		b.Run(path, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			var took []float64
			size := 0
			for b.Loop() {
				it, err := x.Item(ctx, fmt.Sprint("item-", 1+r.IntN(seedItems)))
				testbed.OK(b, err)
				text := []rune(*it.Body)
				filled := strings.NewReplacer("%excerpt", url.QueryEscape(string(text[len(text)/3:len(text)*2/3])), "%body", url.QueryEscape(string(text)), "%item", fmt.Sprint(1+r.IntN(seedItems)), "%source", source(r),
					"%words", url.QueryEscape(pick(r, places)+pick(r, objects)),
					"%story", fmt.Sprint(largest.Clusters[r.IntN(len(largest.Clusters))].ID)).Replace(path)
				rec := httptest.NewRecorder()
				start := time.Now()
				e.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, filled, nil))
				took = append(took, time.Since(start).Seconds()*1000)
				if rec.Code >= 400 {
					b.Fatalf("%s: %d: %s", filled, rec.Code, rec.Body)
				}
				size = max(size, rec.Body.Len())
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)*95/100], "p95-ms")
			b.ReportMetric(float64(size)/1024, "KB")
		})
	}
}

var (
	places  = strings.Fields("海岬 江澜 青禾 云崖 朔原 南屏 澜东 掌山 枫湾 柳港")
	acts    = strings.Fields("发布 公布 启动 完成 推进 检查 调整 恢复 关闭 扩建 修复 通报 查处 试点 招募 表彰 宣布 延长 取消 升级")
	objects = strings.Fields("暴雨预警 招生计划 地铁线路 医保政策 停水通知 道路施工 食品抽检 考古成果 夏粮收购 电价方案 新航线 防汛演练")
)

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

// source is a number of three digits, small ones more often.
func source(r *rand.Rand) string { return fmt.Sprintf("%03d", int(200*r.Float64()*r.Float64())) }

func headline(r *rand.Rand) string {
	return fmt.Sprintf("%s%s%s 第%d号", pick(r, places), pick(r, acts), pick(r, objects), r.IntN(100_000))
}

func prose(r *rand.Rand, sentences int) string {
	var b strings.Builder
	for range sentences {
		fmt.Fprintf(&b, "%s%s%s，%s%d项，%s%s。\n", pick(r, places), pick(r, acts), pick(r, objects), pick(r, acts), r.IntN(1000),
			pick(r, places), pick(r, objects))
	}
	return b.String()
}

// seed adds items of a month. Only suspects and their originals are prepared as ingest does, because the judge has to
// recognise them; the fingerprints of others are drawn at random, and their copies have their hash.
func seed(b *testing.B, x *index.Index, seg *segment.Segmenter) {
	r := rand.New(rand.NewPCG(6, 2025))
	var plain, prepared []*index.Article
	bodies := map[*index.Article]string{}
	noSketch, at := compare.NewSketch(&compare.Text{}), time.Now().Add(-30*24*time.Hour)
	prepare := func(body string) *index.Article {
		a := ingest.Prepare(seg, &ingest.Item{Title: headline(r), Body: body})
		return a
	}
	var batch []index.Mutation
	for i := range seedItems {
		var a index.Article
		switch kind := r.IntN(1000); {
		case kind < 25 && len(prepared) > 50: // a suspect: with nearly as much again of its own; a few originals draw many
			a = *prepare(bodies[prepared[int(float64(len(prepared))*r.Float64()*r.Float64())]] + prose(r, 12))
		case kind < 350 && len(plain) > 100: // a copy; a few originals are copied all the time
			a = *plain[int(float64(len(plain))*r.Float64()*r.Float64()*r.Float64())]
		case kind > 980:
			body := prose(r, 16)
			a = *prepare(body)
			prepared = append(prepared, &a)
			bodies[&a] = body
		default:
			a = index.Article{Title: headline(r), Packed: index.PackText(prose(r, 16)), Sketch: noSketch}
			binary.LittleEndian.PutUint64(a.Exact[:], r.Uint64())
			a.Print.Fingerprint = simhash.Fingerprint(r.Uint64())
			for bit := range a.Print.Margins {
				a.Print.Margins[bit] = 1
			}
			plain = append(plain, &a)
		}
		own := a
		own.ID, own.Source, own.URL = fmt.Sprintf("item-%d", i+1), "来源"+source(r), fmt.Sprintf("https://example.cn/%d.html", i+1)
		at = at.Add(30 * 24 * time.Hour / seedItems)
		own.Published = at
		batch = append(batch, index.Mutation{Seq: uint64(i + 1), At: at, Article: &own})
		if len(batch) == 1000 || i == seedItems-1 {
			if _, err := x.Add(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
}
