package segment

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"jianguo/internal/testbed"
)

// check holds Analyze's promises on any input.
func check(t *testing.T, title, body string) {
	var x Text
	shipped().Analyze(&x, title, body)
	checkForm(t, x.Title)
	checkForm(t, x.Body)
	if x.Blank != (len(x.Title)+len(x.Body) == 0) || x.Blank != (len(x.Terms) == 0) || x.Blank != (x.Exact == [16]byte{}) {
		t.Fatalf("blank %v, title %q, body %q, %d terms, exact %x", x.Blank, x.Title, x.Body, len(x.Terms), x.Exact)
	}
	end := int32(0)
	for _, w := range x.words {
		if gap := x.content[end:w.Start]; w.End <= w.Start || len(bytes.Trim(gap, " ")) > 0 {
			t.Fatalf("word %v after %d in %q", w, end, x.content)
		}
		end = w.End
	}
	if int(end) != len(x.content) {
		t.Fatalf("words end at %d of %q", end, x.content)
	}
	for _, term := range x.Terms {
		if !(term.Weight >= minWeight && term.Weight < 1<<12) || term.Text == "" {
			t.Fatalf("term %q weighs %v", term.Text, term.Weight)
		}
	}
	// A normal form is its own normal form.
	if again := shipped().current.Load().normal(x.Body); strings.ReplaceAll(again, "\n", "") != strings.ReplaceAll(x.Body, "\n", "") {
		t.Fatalf("body %q has the normal form %q", x.Body, again)
	}
}

// checkForm holds a normal form to what Text promises of it.
func checkForm(t *testing.T, form string) {
	if !utf8.ValidString(form) || strings.Contains(form, "\n\n") || strings.Contains(form, "  ") ||
		strings.Trim(form, "\n ") != form || strings.Contains(form, " \n") || strings.Contains(form, "\n ") {
		t.Fatalf("ill-formed: %.200q", form)
	}
	last := ' '
	for _, r := range form {
		switch c := shipped().current.Load().folds.of(r).class; {
		case r == '\n' || r == ' ' || c >= digit:
		case strings.ContainsRune(".:/-%‰", r) && last >= '0' && last <= '9', r == '-' && strings.ContainsRune(" \n"+measures, last):
		default:
			t.Fatalf("%q in a normal form: %.200q", r, form)
		}
		last = r
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.title, v.body)
	}
	f.Add("标题", "<p>a<b>b</p>c<script>d</script><div hidden>e<div>f</div></div>g<!-- h")
	f.Add("", "1,234,567.89元 1,23 12:30 3.5% 5‰ 1.2.3 ½ ⅒ 1⁄2")
	f.Add("", "讯〜0 30～50毫米，10%—20%，2.4亿-2.8亿元")
	f.Add("-0.5%", "(12.620, -0.29, -2.25%) 跌——0.5%，-3月 - 4 -5.5.5 --1,234.5 ～1.2")
	f.Add("-0", "-000,0%0")
	f.Add("", "0000000000000000요ㄳ")
	f.Add("", "0000000000000000000000000000000000<A00000000000000000ֲֿ>ᇮ")
	f.Add("乾", "乾隆乾。坤乾\n淨藉口覆")
	f.Add("\xff", "責任編輯：\u0301a\u0301\u0301\u1100\u1161か\u3099&amp;&#x4e2d;&lt")
	f.Fuzz(check)
}

// Bombs: inputs of half a megabyte, the most an article may have, that are easy to be quadratic, recursive or greedy on.
// That they end within the time of a test is the test.
func TestBombs(t *testing.T) {
	size := testbed.Count(128, 512, 512) << 10 // bytes
	for _, unit := range []string{"中", "a", "1", "1,", "1,234", " ", "\n", "<", "<b>", "<div>", "<div hidden>", "</div>", "<script>", "<!--", "&amp;", "&", "&#",
		"乾", "乾。", "\u0301", "a\u0301", "か\u3099", "\u1100", "👨‍👩‍👧", "\xff", "责任编辑：", "来源：", "广告声明", "更多", "<a b=c d>", "<p style='display:none'>",
		"中国人民", "，中", "中 ", "a ", "Ⅷ", "﷽", "<svg><math>", "<title>", "]]>", "﷼9.", "1/"} {
		body := strings.Repeat(unit, size/len(unit))
		var x Text
		shipped().Analyze(&x, body[:min(len(body), 3000)], body)
		shipped().Trace("", body)
		if n := len(x.Terms) + len(x.words); n > 2*size {
			t.Errorf("%q: %d terms and words", unit, n)
		}
		checkForm(t, x.Body)
	}
}
