package reason

import (
	"strings"
	"testing"
	"unicode/utf8"

	"jianguo/compare"
)

// original is an article whose normal form is its text without punctuation.
func original(text string) *Original {
	var form strings.Builder
	var from []int
	for i, r := range text {
		if strings.ContainsRune("，。：、“”", r) {
			r = '\n'
		}
		for range utf8.RuneLen(r) {
			from = append(from, i)
		}
		form.WriteRune(r)
	}
	f := strings.Trim(form.String(), "\n")
	return &Original{Text: text, Form: f, Origin: func(i int) (int, int) {
		_, size := utf8.DecodeRuneInString(text[from[i]:])
		return from[i], from[i] + size
	}}
}

const report = "海岬市水务局昨日通报，青禾河堤防加固工程全部完工，沿线六个乡镇的排涝泵站同时投入运行，汛期值守人员已经到岗。" +
	"工程去年秋天开工，由省水利设计院设计，两岸新植的护坡草已经返青，行人可以从堤顶步道走到河口湿地公园。"

// TestSentence: the relation and the one decisive thing, cut from the article itself.
func TestSentence(t *testing.T) {
	limits := compare.DefaultLimits()
	for _, c := range []struct{ later, earlier, zh, en string }{
		{report, report + "。", "同文：仅格式不同", "same text: only the form differs"},
		{report + "工程总投资3.2亿元，其中省级财政承担七成，另外1.1万户居民将在年底之前用上改造后的供水管网，" +
			"水务局长林知远表示下一步还要整治上游的两座小水库。", report,
			"含先到稿；新增约70字：工程总投资3.2亿元、其中省级财政承担七成、1.1万户",
			"has the earlier text; about 70 new characters: 工程总投资3.2亿元, 其中省级财政承担七成, 1.1万户"},
	} {
		a, b := original(c.later), original(c.earlier)
		j := compare.Judge(compare.NewDoc(&compare.Text{Body: a.Form}), compare.NewDoc(&compare.Text{Body: b.Form}), &limits)
		f := Of(&j, func() *Original { return a }, func() *Original { return b })
		if zh, en := Sentence(f, Chinese), Sentence(f, English); zh != c.zh || en != c.en {
			t.Errorf("%s\n%s, want\n%s\n%s\n%v", zh, en, c.zh, c.en, j.Trace)
		}
		for _, q := range f.New.quotes() {
			if !strings.Contains(c.later, q) || strings.Contains(c.earlier, q) {
				t.Errorf("%q is no piece of the later text alone", q)
			}
		}
	}
}

func (n *New) quotes() []string {
	if n == nil {
		return nil
	}
	return n.Quotes
}

// TestWords: every reason has its words in both languages.
func TestWords(t *testing.T) {
	for _, w := range []*words{&chinese, &english} {
		for reason := range chinese.relation {
			if w.relation[reason] == "" {
				t.Errorf("%s has no words", reason)
			}
		}
	}
}
