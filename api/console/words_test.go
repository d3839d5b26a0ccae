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
	"jianguo/internal/fixture"
)

// TestSpansCoverTheTexts: of any two texts, the spans of each are the text, byte for byte, and what is shown as one
// text's own has a letter or digit.
func TestSpansCoverTheTexts(t *testing.T) {
	c := fixture.Shipped()
	parts := rapid.SampledFrom([]string{"台风", "颱風", "登陆", "1,246艘", "３．５％", "ﬁ", "㎡", "25℃", "№", "⼤", "Ⅳ", "e\u0301", "<b>", "&amp;", "责任编辑：张三", "\n", "，", " ", "ABC", "\u200b",
		"①", "乾隆", "饼乾", "\xff", "😀", "ㄅ", "한국", "本文来源：某报\n", "x <y", "2025年6月9日", "½"})
	rapid.Check(t, func(t *rapid.T) {
		a, b := strings.Join(rapid.SliceOfN(parts, 0, 40).Draw(t, "a"), ""), strings.Join(rapid.SliceOfN(parts, 0, 40).Draw(t, "b"), "")
		r := compareTexts(c, a, b)
		for text, spans := range map[string][]diff.Span{a: r.A, b: r.B} {
			if a == b {
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
		if same := compareTexts(c, a, a); same.SharedA != 1 && c.Trace(a).Form != "" && strings.Trim(c.Trace(a).Form, "\n ") != "" || same.Conflicts+same.Moves > 0 {
			t.Fatalf("%q and itself: %+v", a, same)
		}
	})
}

// TestWeatherReports: characters whose folding changes their length move nothing (25℃ was a report that lost half of
// what it shared).
func TestWeatherReports(t *testing.T) {
	c := fixture.Shipped()
	a := strings.Repeat("今天夜间到明天白天多云，最高气温25℃，最低气温18℃，降雨½㎜；№3监测站记录面积4㎡。", 3)
	b := strings.ReplaceAll(a, "25℃", "27℃")
	r := compareTexts(c, a, b)
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
	c := fixture.Shipped()
	for _, pair := range [][2]string{
		{"台风今晨登陆海岬市，转移群众1.8万人。", "颱風今晨登陸海岬市,轉移羣眾１．８萬人."},
		{"1246艘渔船回港", "1,246 艘漁船回港"},
		{"乾隆年间的饼干", "乾隆年間的餅乾"},
	} {
		r := compareTexts(c, pair[0], pair[1])
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
	c := fixture.Shipped()
	corpus, err := data.FS.ReadFile("sample/corpus.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for line := range strings.Lines(string(corpus)) {
		var it struct{ ID, Title, Body string }
		if err := json.Unmarshal([]byte(line), &it); err != nil {
			t.Fatal(err)
		}
		body, _ := readableText(it.Body)
		texts[it.ID] = it.Title + "\n" + body
	}
	for _, id := range []string{"spoonbill", "taxi", "noodle", "chess"} {
		simplified, traditional := texts[id], texts[id+"-trad"]
		if simplified == "" || traditional == "" {
			t.Fatalf("the sample has no %s with a copy in traditional characters", id)
		}
		if share := compareTexts(c, simplified, traditional).SharedB; share < .95 {
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
		if got, cut := readableText(in); got != want || cut {
			t.Errorf("readableText(%q) = %q, %v; want %q", in, got, cut, want)
		}
	}
	long, cut := readableText(strings.Repeat("字", maxShown+5))
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
