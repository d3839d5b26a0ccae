package console

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"jianguo/api/console/diff"
	"jianguo/compare/reason"
	"jianguo/data"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/fixture"
	"jianguo/internal/testbed"
)

// shownOf is an article as a page shows it.
func shownOf(title, body string) *reason.Original {
	o, _ := readable(ingest.Original(fixture.Shipped(), title, body))
	return o
}

func compareTexts(a, b string) *diff.Result { return diff.Compare(shownOf("", a), shownOf("", b)) }

// TestSpansCoverTheTexts: of any two texts, the spans of each are the text, byte for byte, and what is shown as one
// text's own has a letter or digit.
func TestSpansCoverTheTexts(t *testing.T) {
	parts := rapid.SampledFrom([]string{"台风", "颱風", "登陆", "1,246艘", "３．５％", "ﬁ", "㎡", "25℃", "№", "⼤", "Ⅳ", "e\u0301", "<b>", "&amp;", "责任编辑：张三", "\n", "，", " ", "ABC", "\u200b",
		"①", "乾隆", "饼乾", "\xff", "😀", "ㄅ", "한국", "本文来源：某报\n", "x <y", "2025年6月9日", "½"})
	rapid.Check(t, func(t *rapid.T) {
		a, b := strings.Join(rapid.SliceOfN(parts, 0, 40).Draw(t, "a"), ""), strings.Join(rapid.SliceOfN(parts, 0, 40).Draw(t, "b"), "")
		x, y := shownOf("", a), shownOf("", b)
		r := diff.Compare(x, y)
		for text, spans := range map[string][]diff.Span{x.Text: r.A, y.Text: r.B} {
			if x.Text == y.Text {
				spans = r.A
			}
			at := 0
			for _, s := range spans {
				if s.Start != at || s.End <= at {
					t.Fatalf("span %+v behind %d in %q", s, at, text)
				}
				at = s.End
			}
			if at != len(text) {
				t.Fatalf("the spans end at %d of %d", at, len(text))
			}
		}
		if same := diff.Compare(x, x); same.SharedA != 1 && strings.Trim(x.Form, "\n ") != "" || same.Conflicts+same.Moves > 0 {
			t.Fatalf("%q and itself: %+v", a, same)
		}
	})
}

// TestLeftOutIsAside: what the judge leaves out of a page is grey in the comparison, and what it counts is not.
func TestLeftOutIsAside(t *testing.T) {
	title, article := "云崖市图书馆新馆周六上午开放 首日接待读者一万两千人", "云崖市图书馆新馆周六上午正式开放，首日接待读者一万两千人，少儿区门口排起了长队。"+
		"新馆藏书六十万册，开放到晚上九点，周一闭馆。读者凭身份证即可入馆，借书证可以在自助机上办理，全程不到三分钟。"
	for name, page := range map[string]struct{ left, html, right string }{
		"navigation": {"首页\n国内", `<ul><li><a href="/">首页</a></li><li><a href="/n">国内</a></li></ul><p>` + article + `</p>`, ""},
		"headlines": {"", `<p>` + article + `</p><li><a href="/1">枫湾市今晨停水</a></li>` + "\n" + `<li><a href="/2">海岬晚高峰拥堵</a></li>`,
			"枫湾市今晨停水\n海岬晚高峰拥堵"},
		"headline": {title, `<h1>` + title + `</h1><p>` + article + `</p>`, ""},
		"its own":  {"", `<p>` + article + `</p><p>本报记者昨晚在现场看到，<a href="/1">队伍排到了街角</a>。</p>`, ""},
		"a digest": {"", `<p>` + article[:90] + `</p><p><a>枫湾市今晨停水</a></p><p><a>海岬晚高峰拥堵</a></p><p><a>江澜大桥合龙</a></p>`, ""},
	} {
		x := shownOf(title, page.html)
		r, aside := diff.Compare(shownOf(title, article), x), ""
		for _, s := range r.B {
			if s.Kind == diff.Aside {
				aside += x.Text[s.Start:s.End]
			}
		}
		if want := page.left + page.right; strings.Trim(aside, "。\n") != want {
			t.Errorf("%s: %q is aside, want %q", name, aside, want)
		}
	}
}

// TestWeatherReports: characters whose folding changes their length move nothing (25℃ was a report that lost half of
// what it shared).
func TestWeatherReports(t *testing.T) {
	a := strings.Repeat("今天夜间到明天白天多云，最高气温25℃，最低气温18℃，降雨½㎜；№3监测站记录面积4㎡。", 3)
	b := strings.ReplaceAll(a, "25℃", "27℃")
	r := compareTexts(a, b)
	var conflict []string
	for _, s := range r.B {
		switch s.Kind {
		case diff.Conflict:
			conflict = append(conflict, b[s.Start:s.End])
		}
	}
	if r.Conflicts != 1 || strings.Join(conflict, " ") != "27" { // what a text says again is one fact
		t.Errorf("%d conflicts: %q", r.Conflicts, conflict)
	}
}

// TestFormsAreEqual: texts that differ only in form have the same words.
func TestFormsAreEqual(t *testing.T) {
	for _, pair := range [][2]string{
		{"台风今晨登陆海岬市，转移群众1.8万人。", "颱風今晨登陸海岬市,轉移羣眾１．８萬人."},
		{"1246艘渔船回港", "1,246 艘漁船回港"},
		{"乾隆年间的饼干", "乾隆年間的餅乾"},
	} {
		r := compareTexts(pair[0], pair[1])
		for _, s := range append(r.A, r.B...) {
			if s.Kind != diff.Same {
				t.Errorf("%q and %q differ: %+v", pair[0], pair[1], r)
				break
			}
		}
	}
}

// TestTraditionalCopies: the side-by-side view of an article of the sample and its copy in
// traditional characters shows no difference.
func TestTraditionalCopies(t *testing.T) {
	corpus, err := data.FS.ReadFile("sample/corpus.jsonl")
	testbed.OK(t, err)
	texts := map[string]string{}
	for line := range strings.Lines(string(corpus)) {
		var it struct{ ID, Title, Body string }
		testbed.OK(t, json.Unmarshal([]byte(line), &it))
		texts[it.ID] = it.Title + "\n" + it.Body
	}
	for _, id := range []string{"spoonbill", "taxi", "noodle", "chess"} {
		simplified, traditional := texts[id], texts[id+"-trad"]
		if simplified == "" || traditional == "" {
			t.Fatalf("the sample has no %s with a copy in traditional characters", id)
		}
		if share := compareTexts(simplified, traditional).SharedB; share < .95 {
			t.Errorf("%s: %.1f %% of the copy is shown as shared", id, 100*share)
		}
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"<p>一</p><script>alert(1)</script><div>二<b>三</b></div>": "一\n二三",
		"a < b 和 x <y> z":             "a < b 和 x <y> z",
		"甲&nbsp;乙&lt;script&gt;":      "甲 乙<script>",
		"\u202e倒\u200b写\r\n\r\n  下一行": "倒写\n下一行",
		"<style>p{}</style>文<br>字":    "文\n字",
	} {
		if got, _, cut := readableText(ingest.Original(fixture.Shipped(), "", in).Text); got != want || cut {
			t.Errorf("readableText(%q) = %q, %v; want %q", in, got, cut, want)
		}
	}
	long, _, cut := readableText(strings.Repeat("字", maxShown+5))
	if utf8.RuneCountInString(long) != maxShown || !cut {
		t.Errorf("%d characters are shown, cut %v", utf8.RuneCountInString(long), cut)
	}
}

// TestOneWordForOneKind: tables name a copy as its sentence does, however the earlier text was found.
func TestOneWordForOneKind(t *testing.T) {
	for _, language := range []string{index.Chinese, index.English} {
		l := locale{Language: language}
		facts := &index.Facts{Reason: "reworded", Coverage: &reason.Coverage{Later: .95, Earlier: .95}, New: &reason.New{}}
		for _, rule := range []index.Rule{index.ByHamming, index.ByMargin, index.BySketch, index.ByPassage} {
			if word := l.Rule(rule, facts); word == "" || !strings.HasPrefix(reason.Sentence(facts, language), word) {
				t.Errorf("%s: %q for a sentence %q", rule, word, reason.Sentence(facts, language))
			}
		}
		if l.Rule(index.ByLicence, facts) == l.Rule(index.ByMargin, facts) || l.Rule(index.ByMargin, nil) != "" {
			t.Error("a licence has a word of its own, and what was not compared has none")
		}
	}
}
