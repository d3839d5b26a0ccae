package segment

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestTracePointsIntoTheOriginal: the bytes of the original that each character of the form comes from.
func TestTracePointsIntoTheOriginal(t *testing.T) {
	for in, want := range map[string]string{
		"東京，８月９日上漲３．５％。":     "东東|京京|8８|月月|9９|日日|上上|涨漲|3３|.５|5５|%％",
		"营收1,600亿元":          "营营|收收|11|66|00|00|亿亿|元元",
		"京\u200b东":           "京京|东东",
		"25℃，½ ⅣＮo № ⼤ ﬁ 3㎡": "22|55|c℃|1½|/½|2½|iⅣ|vⅣ|nＮ|oo|n№|o№|大⼤|fﬁ|iﬁ|33|m㎡|2㎡",
		"<p>中&#x56fd;</p>":   "中中|国国",
		"か\u3099き":           "がか\u3099|きき",
		"1,23㏠ -㏠":           "11|22|33|1㏠|日㏠|1㏠|日㏠",
		"":                   "",
	} {
		x := shipped().Trace("", in)
		var got []string
		for i, r := range x.Form {
			if r == '\n' || r == ' ' {
				continue
			}
			start, end := x.Origin(i)
			got = append(got, string(r)+x.Text[start:end])
		}
		if d := cmp.Diff(want, strings.Join(got, "|")); d != "" {
			t.Errorf("%q: %s", in, d)
		}
	}
}

// Whatever the form, what is traced is the same.
func TestTraceAligns(t *testing.T) {
	words := func(text string) string { return strings.Join(strings.Fields(shipped().Trace("", text).Form), "") }
	want := words(bulletin)
	for name, change := range forms {
		if name == "headline repeated" {
			continue // there is none
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				if got := words(change(t, bulletin)); got != want {
					t.Fatal(cmp.Diff(want, got))
				}
			})
		})
	}
}

// tracesAsText holds the form of a traced text to that which Analyze makes of it.
func tracesAsText(t interface{ Fatalf(string, ...any) }, s string) {
	folds := shipped().current.Load().folds
	traced, fed := normalizer{folds: folds, title: -1}, normalizer{folds: folds, title: -1}
	fed.feedText(s)
	traced.feedTraced(s)
	if got, want := string(traced.finish()), string(fed.finish()); got != want {
		t.Fatalf("%+q is %+q, and traced %+q", s, want, got)
	}
}

// TestTracedIsAnalyzed: characters that combine, change places, group digits, fold to several, or are not seen.
func TestTracedIsAnalyzed(t *testing.T) {
	for _, s := range []string{"か\u200b\u3099", "か\x00\u3099", "ﾊ\u200bﾞ", "\u1100\ufeff\u1161", "ㄱㅏ", "e\xff\u0301"} {
		tracesAsText(t, s)
	}
	alphabet := []rune("かはﾊﾞﾟ\u3099\u309a\u200b\u200d\ufeff\u00ad\u034f\ufe0f\x00\x07\u0085\u0301\u0327\u0345\u05b8\u0e33\u1100\u1161\u11a8ㄱㅏㄳ가" +
		"ﾡￂe1２3,，.-－%‰½℃㋿㏠㍿Ⅳ№ﬁ①❶東乾中国 \t\n。《》×·丨~�\U000e0061\U0001d15f\U0002f800👨")
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.SampledFrom(alphabet), rapid.IntRange(0, 40).Draw(t, "least"), 60, -1).Draw(t, "text")
		if filler := rapid.SampledFrom([]string{"", " ", "\u200b", "．", "*"}).Draw(t, "filler"); filler != "" {
			s = strings.Join(strings.Split(s, ""), filler)
		}
		tracesAsText(t, s)
	})
}

func FuzzTrace(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.body)
	}
	f.Add("㍿㋿½か\u3099&lt;&ampx&#x4e2d;<b>1,234</b>,567 25℃ ㎡№⼤ﬁⅣ 你 好 2 0 2 3")
	f.Fuzz(func(t *testing.T, s string) {
		tracesAsText(t, s)
		x := shipped().Trace("", s)
		last := 0
		for i := range x.Form {
			start, end := x.Origin(i)
			if c := x.Form[i]; c == '\n' || c == ' ' {
				continue
			}
			if start < last || end <= start || end > len(x.Text) {
				t.Fatalf("byte %d of %q comes from %d to %d, after %d of %q", i, x.Form, start, end, last, x.Text)
			}
			last = start
		}
		if !utf8.ValidString(x.Form) {
			t.Fatalf("%q", x.Form)
		}
	})
}

// TestTraceApart: characters that are set apart come together, and stand where they did.
func TestTraceApart(t *testing.T) {
	x := shipped().Trace("", "青 禾 河 全 长 1 8 7 . 5 公 里 流 经 四 县")
	if x.Form != "\n青禾河全长187.5公里流经四县" {
		t.Errorf("%q", x.Form)
	}
	if start, end := x.Origin(strings.Index(x.Form, "公")); start != strings.Index(x.Text, "公") || end != start+3 {
		t.Errorf("公 comes from %d to %d", start, end)
	}
}
