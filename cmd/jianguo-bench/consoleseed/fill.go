package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/segment"
	"jianguo/simhash"
	"jianguo/sketch"
)

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

// vocabulary returns the words of the table of document frequencies, the most frequent
// first.
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

// prose returns about n characters of words. The frequency of a word falls with its rank,
// as in real texts.
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

// origin is an item that others copy. Its expensive parts (text, packed, exact, print)
// are made once, in parallel, from its seed.
type origin struct {
	seed      uint64
	real      bool // to be prepared as ingest does
	published time.Time
	title     string
	text      string
	article   index.Article
}

// draft is an item to make.
type draft struct {
	o        *origin
	first    bool // it is o itself
	partial  bool // o, with nearly as much again of its own
	reworded bool // o with a sentence of its own
	article  *index.Article
	at       time.Time
}

// filler generates items.
type filler struct {
	seg   *segment.Segmenter
	words []string
	r     *rand.Rand
	at    time.Time
	step  time.Duration
	next  int // the number of the next item

	recent, loud, real []*origin
}

// fillBatch is the number of items in one transaction.
const fillBatch = 5000

// fill adds a number of items: every third is a copy, one in forty a suspect, and most
// others stand alone. Most fingerprints are drawn at random, and most copies have the text of
// the original. Suspects, reworded copies and their originals are prepared as ingest does,
// because only the judge can recognise them.
func fill(ctx context.Context, x *index.Index, seg *segment.Segmenter, items int) error {
	words, err := vocabulary()
	if err != nil {
		return err
	}
	f := &filler{seg: seg, words: words, r: rand.New(rand.NewPCG(6, 2025)), at: time.Now().Add(-30 * 24 * time.Hour), step: 30 * 24 * time.Hour / time.Duration(items), next: 1}
	began := time.Now()
	batches := make(chan []draft, 1)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(batches)
		for f.next <= items {
			batch := f.draw(min(fillBatch, items+1-f.next))
			f.make(batch)
			select {
			case batches <- batch:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	g.Go(func() error {
		seq, suspects := uint64(0), 0
		for batch := range batches {
			mutations := make([]index.Mutation, len(batch))
			for i, d := range batch {
				seq++
				mutations[i] = index.Mutation{Seq: seq, At: d.at, Article: d.article}
			}
			outcomes, err := x.Add(ctx, mutations)
			if err != nil {
				return err
			}
			for i := range outcomes {
				if outcomes[i].Event.Verdict == index.Suspect {
					suspects++
				}
			}
		}
		fmt.Printf("%d items, %d of them suspects, in %.1f s\n", seq, suspects, time.Since(began).Seconds())
		return nil
	})
	return g.Wait()
}

// draw decides what the next n items are.
func (f *filler) draw(n int) []draft {
	batch := make([]draft, n)
	for i := range batch {
		f.at = f.at.Add(f.step)
		d := draft{at: f.at}
		switch k := f.r.IntN(1000); {
		case k < 60 && len(f.real) > 50:
			// Some articles draw many suspects.
			d.o = f.real[len(f.real)-1-int(float64(len(f.real))*math.Pow(f.r.Float64(), 3))]
			d.partial, d.reworded = k < 25, k >= 25
		case k < 375 && len(f.recent) > 100 && len(f.loud) > 0:
			// Most stories are copied a few times, a few all the time.
			d.o = f.recent[len(f.recent)-1-int(float64(len(f.recent))*f.r.Float64()*f.r.Float64())]
			if f.r.IntN(4) == 0 {
				d.o = f.loud[int(float64(len(f.loud))*f.r.Float64()*f.r.Float64())]
			}
		default:
			d.o, d.first = f.origin(k >= 980), true
		}
		a := &index.Article{ID: fmt.Sprintf("item-%d", f.next), Source: fmt.Sprintf("来源%03d", int(200*f.r.Float64()*f.r.Float64())),
			URL: fmt.Sprintf("https://example.cn/%d.html", f.next), Published: d.o.published.Add(time.Duration(f.r.IntN(7200)) * time.Second)}
		d.article = a
		f.next++
		batch[i] = d
	}
	return batch
}

func (f *filler) origin(real bool) *origin {
	o := &origin{seed: f.r.Uint64(), real: real, published: f.at.Add(-time.Duration(f.r.IntN(600)) * time.Second), title: headline(f.r)}
	if real {
		if f.real = append(f.real, o); len(f.real) > 2000 {
			f.real = slices.Clone(f.real[1000:])
		}
		return o
	}
	if f.next%5000 < 3 {
		f.loud = append([]*origin{o}, f.loud[:min(len(f.loud), 30)]...)
	}
	if f.recent = append(f.recent, o); len(f.recent) > 20_000 {
		f.recent = slices.Clone(f.recent[10_000:])
	}
	return o
}

// make fills in the articles of a batch, on all processors: first the originals, then the
// copies.
func (f *filler) make(batch []draft) {
	for _, first := range []bool{true, false} {
		var g errgroup.Group
		next := make(chan *draft, len(batch))
		for i := range batch {
			if batch[i].first == first {
				next <- &batch[i]
			}
		}
		close(next)
		for range runtime.GOMAXPROCS(0) {
			g.Go(func() error {
				for d := range next {
					f.article(d)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			panic(err) // none of them fails
		}
	}
}

func (f *filler) article(d *draft) {
	o, a := d.o, d.article
	if d.first {
		o.make(f)
	}
	if d.partial || d.reworded {
		r := rand.New(rand.NewPCG(o.seed, uint64(d.at.UnixNano())))
		body := o.text + prose(r, f.words, 20)
		if d.partial {
			body = o.text + "\n" + prose(r, f.words, 300)
		}
		made := ingest.Prepare(f.seg, &ingest.Item{ID: a.ID, Title: headline(r), Body: body, Source: a.Source, URL: a.URL, Published: &a.Published})
		made.Text.Title, made.Text.Body, made.Text.Names = "", "", nil
		made.Packed = index.PackText(body)
		*a = *made
		return
	}
	a.Title, a.Packed, a.Exact, a.Print, a.Sketch, a.Text = o.title, o.article.Packed, o.article.Exact, o.article.Print, o.article.Sketch, o.article.Text
}

var noSketch = sketch.Make(sketch.Input{})

func (o *origin) make(f *filler) {
	r := rand.New(rand.NewPCG(o.seed, 1))
	body := o.title + "。\n" + prose(r, f.words, 400)
	if o.real {
		o.text = body
		o.article = *ingest.Prepare(f.seg, &ingest.Item{Title: o.title, Body: body})
		o.article.Text = sketch.Input{}
	} else {
		a := &o.article
		binary.LittleEndian.PutUint64(a.Exact[:], r.Uint64())
		binary.LittleEndian.PutUint64(a.Exact[8:], r.Uint64())
		a.Print.Fingerprint, a.Sketch = simhash.Fingerprint(r.Uint64()), noSketch
		for i := range a.Print.Margins {
			a.Print.Margins[i] = 1
		}
	}
	o.article.Packed = index.PackText(body)
}
