package jianguo_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"jianguo/api/console/diff"
	"jianguo/compare"
	"jianguo/compare/reason"
	"jianguo/data"
	"jianguo/index/sources"
	"jianguo/ingest"
	"jianguo/internal/testbed"
	"jianguo/segment"
)

// marks are the alphabets that stand in no table: digits, punctuation, markup, what Unicode folds to more or less.
var marks = strings.Split(`0 9 1. 1: 1- -1 1, 1/ 3% 3‰ 2023年8月9日 2023-08-09 12:30 8点半 零 一 十 百 千 万 亿 〇 两 半 余 多 第 至 到 比 分之
百分之 三分之 年 月 日 号 份 年代 前三季度 上半年 下午 http www a a1 ab, α ж ก 가 あ ア ー ， 。 ！ ？ … 、 ： ； “ ” ( ) 【 】 · × ° + = ~ — – _ * ^ | < > << </ & && &amp; &lt; &#20013;
&#x4e2d; <b> </b> <p> </p> <br> <div> <title> </title> <script> </script> <!-- --> <!doctype <td> <img> <plaintext> <x-y> <p 某某市 今天 的 不 中国 公里/小时 元每股 ﷺ ﷻ ㌀ ㍿
½ ① ⓴ ℃ ™ 乾 乾隆 饼乾 髮 發 後 丨 😀 👨‍👩‍👧 １ Ａ ㎡ ﬁ ｶ ㄱ 한`+" e\u0301 a\u0300 \u200b \u200d \ufeff \uff9e", " ")

// tableAlphabets are the spellings of the tables.
func tableAlphabets(t *testing.T) (out []string) {
	for table, column := range map[string]int{"units.tsv": 0, "denials.txt": 0, "lookalikes.txt": 0, "variants.txt": 0,
		"residue.txt": 0, "df.txt": 0} {
		file, err := data.FS.ReadFile("tables/" + table)
		testbed.OK(t, err)
		n := 0
		for line := range strings.Lines(string(file)) {
			if n++; line[0] == '#' || table == "df.txt" && n%97 > 0 || line == "\n" {
				continue
			}
			word := strings.Split(strings.TrimSuffix(line, "\n"), "\t")[column]
			if table == "residue.txt" { // what a pattern matches, its gaps left empty
				_, word, _ = strings.Cut(word, " ")
				for from := strings.IndexByte(word, '{'); from >= 0; from = strings.IndexByte(word, '{') {
					word = word[:from] + word[from+strings.IndexByte(word[from:], '}')+1:]
				}
				word = strings.NewReplacer("^", "", "$", "。", "#", "3", "...×", "广告×", "...", "某", "：", "\n").Replace(word)
			}
			if word != "" {
				out = append(out, word)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// crafted are texts of another form than one piece or two in turns. Each makes a text of about so many bytes.
var crafted = map[string]func(r *rand.Rand, size int) string{
	"all different": func(r *rand.Rand, size int) string { return han(r, size) },
	"clauses": func(r *rand.Rand, size int) string {
		return chunks(size, func(int) string { return han(r, 60) + "，" })
	},
	"names": func(r *rand.Rand, size int) string { // what stands between the names is the same in each text
		same := rand.New(rand.NewPCG(7, 7))
		return chunks(size, func(int) string { return han(same, 24) + han(r, 6) })
	},
	"values": func(r *rand.Rand, size int) string {
		same := rand.New(rand.NewPCG(7, 7))
		return chunks(size, func(int) string { return han(same, 24) + fmt.Sprint(r.IntN(1e6)) + "元" })
	},
	"fillers": func(r *rand.Rand, size int) string {
		return chunks(size, func(i int) string { return han(r, 3) + string(rune(0x40000+i)) })
	},
	"residue near": func(r *rand.Rand, size int) string {
		return chunks(size, func(int) string { return "\n来源：某报\n原标题：\n" })
	},
	"one word": func(r *rand.Rand, size int) string {
		return "1" + chunks(size, func(i int) string { return fmt.Sprintf("-%d%d", i, cmp.Or(i%16, r.IntN(1e3))) })
	},
	"one number": func(r *rand.Rand, size int) string { return "1" + strings.Repeat("亿", size/3) },
	"entities":   func(r *rand.Rand, size int) string { return "&" + strings.Repeat("a", size) },
	"attributes": func(r *rand.Rand, size int) string {
		return "<p" + chunks(size, func(i int) string { return fmt.Sprint(" a", i, "=1 style='x:y;'") }) + ">"
	},
	"nested": func(r *rand.Rand, size int) string { return strings.Repeat("<div hidden>", size/12) },
	"marks":  func(r *rand.Rand, size int) string { return "a" + strings.Repeat("\u0301", size/2) },
	"blocks": func(r *rand.Rand, size int) string { return strings.Repeat("<div><script>a</script>", size/23) },
	"paragraphs": func(r *rand.Rand, size int) string {
		return chunks(size, func(int) string { return han(r, 30) + "\n" })
	},
}

func han(r *rand.Rand, bytes int) string {
	out := make([]rune, bytes/3)
	for i := range out {
		out[i] = rune(0x4e00 + r.IntN(6000))
	}
	return string(out)
}

func chunks(size int, next func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(next(i))
	}
	return b.String()
}

// cost is what a step takes.
type cost struct {
	time  time.Duration
	bytes uint64
}

// slow reports whether a step took too long, or more than its length says against a quarter of the length.
func (c cost) slow(quarter cost) bool {
	return c.time > 500*time.Millisecond || c.time > 5*quarter.time+30*time.Millisecond
}

// journey is what each step costs that an article goes through, judged against another one.
func journey(seg *segment.Segmenter, later, earlier *ingest.Item) map[string]cost {
	costs := map[string]cost{}
	step := func(name string, f func()) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		f()
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		costs[name] = cost{took, after.TotalAlloc - before.TotalAlloc}
	}
	limits := compare.DefaultLimits()
	b := ingest.Prepare(seg, earlier)
	a := ingest.Prepare(seg, later)
	step("prepare", func() { a = ingest.Prepare(seg, later) })
	db := compare.NewDoc(&b.Text)
	var da *compare.Doc
	step("doc", func() { da = compare.NewDoc(&a.Text) })
	var j compare.Judgement
	step("judge", func() { j = compare.Judge(da, db, &limits) })
	step("headlines", func() { a.Text.Untold(later.Title, earlier.Title) })
	p := ingest.Original(seg, earlier.Title, earlier.Body)
	var o *reason.Original
	step("trace", func() { o = ingest.Original(seg, later.Title, later.Body) })
	original := func(o *reason.Original) func() *reason.Original { return func() *reason.Original { return o } }
	step("reason", func() { reason.Of(&j, original(o), original(p)) })
	step("learn", func() { new(sources.Clauses).Learn("an id", &a.Text, 1) })
	step("diff", func() { diff.Compare(p, o) })
	return costs
}

// edited is a text with another character at every so many bytes.
func edited(text string, every int) string {
	var b strings.Builder
	for ; len(text) > every; text = text[every:] {
		b.WriteString(strings.ToValidUTF8(text[:every], "") + "完")
	}
	return b.String() + text
}

// TestGrowth: no step that an article goes through takes more than its length says, whatever the text, against itself
// with edits or against another one of its kind. In memory in every tier; in time, which depends on the machine, in
// the long one.
func TestGrowth(t *testing.T) {
	seg, err := segment.New(segment.Config{Data: data.FS})
	testbed.OK(t, err)
	type pair func(bytes int) (later, earlier *ingest.Item)
	pairs := map[string]pair{}
	repeat := func(piece string) {
		pairs[strconv.Quote(piece)] = func(size int) (later, earlier *ingest.Item) {
			text := strings.ToValidUTF8(strings.Repeat(piece, size/len(piece)+1)[:size], "")
			return &ingest.Item{Title: text[:len(text)/64], Body: text}, &ingest.Item{Body: edited(text, 1000)}
		}
	}
	r, tables := rand.New(rand.NewPCG(1, 2)), tableAlphabets(t)
	for i, piece := range slices.Concat(marks, tables) {
		if i%testbed.Count(16, 4, 1) == 0 && i < len(marks) || i%testbed.Count(97, 31, 11) == 0 {
			repeat(piece)
		}
	}
	for range testbed.Count(10, 100, 600) {
		all := slices.Concat(marks, tables)
		repeat(marks[r.IntN(len(marks))] + all[r.IntN(len(all))])
	}
	for name, text := range crafted {
		of := func(r *rand.Rand, titled, size int) *ingest.Item {
			return &ingest.Item{Title: text(r, titled), Body: text(r, size-titled)}
		}
		for where, part := range map[string]int{"body": 300, "title": 2, "both": 1} {
			pairs[name+" "+where] = func(size int) (later, earlier *ingest.Item) {
				r := rand.New(rand.NewPCG(3, 4))
				return of(r, size/part*99/100, size), of(r, size/part*99/100, size)
			}
		}
		pairs[name+" edited"] = func(size int) (later, earlier *ingest.Item) {
			later = of(rand.New(rand.NewPCG(3, 4)), size/4, size)
			return later, &ingest.Item{Title: edited(later.Title, 30), Body: edited(later.Body, 30)}
		}
	}
	size := testbed.Count(16, 64, 512) << 10
	var slowest []string // of each pair that was slower than all before it
	worst := time.Duration(0)
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		small, large := lower(seg, pairs[name], size/4), lower(seg, pairs[name], size)
		for range testbed.Count(0, 0, 8) { // what another process delayed is measured again
			if !slices.ContainsFunc(slices.Collect(maps.Keys(large)), func(step string) bool {
				return large[step].slow(small[step])
			}) {
				break
			}
			for step, c := range lower(seg, pairs[name], size) {
				large[step] = cost{min(c.time, large[step].time), min(c.bytes, large[step].bytes)}
			}
		}
		for step, c := range large {
			s := small[step]
			if c.time > worst {
				worst, slowest = c.time, append(slowest, fmt.Sprintf("%s: %s: %v", name, step, c.time))
			}
			// Buffers that are used again may be new: an article takes up to 200 bytes for each of its own.
			if c.bytes > 8*s.bytes+uint64(256*size) {
				t.Errorf("%s: %s: %d KB take %d bytes, a quarter of that %d", name, step, size>>10, c.bytes, s.bytes)
			}
			if testbed.Long() && c.slow(s) {
				t.Errorf("%s: %s: %d KB take %v, a quarter of that %v", name, step, size>>10, c.time, s.time)
			}
		}
	}
	t.Logf("%d KB, slowest last:\n%s", size>>10, strings.Join(slowest, "\n"))
}

// lower is the lower of two measurements of each step.
func lower(seg *segment.Segmenter, pair func(int) (later, earlier *ingest.Item), size int) map[string]cost {
	later, earlier := pair(size - 4<<10)
	costs := journey(seg, later, earlier)
	if !testbed.Long() {
		return costs
	}
	for step, c := range journey(seg, later, earlier) {
		costs[step] = cost{min(c.time, costs[step].time), min(c.bytes, costs[step].bytes)}
	}
	return costs
}
