package segment

import (
	"html"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"jianguo/simhash"
)

func analyze(title, body string) *Text {
	var t Text
	shipped().Analyze(&t, title, body)
	return &t
}

func fingerprint(x *Text) simhash.Print {
	var sum simhash.Sum
	for _, t := range x.Terms {
		sum.Add(t.Hash, t.Weight)
	}
	return sum.Print()
}

func TestNormalForm(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{" \n\t。！……🔥🎉—— \u200b", ""},
		{"营收1,600亿元，同比增长３．５％。", "营收1600亿元\n同比增长3.5%"},
		{"8 月 9 日 12：30", "8月9日12:30"},
		{"IT 之家 Hello, World", "it之家hello\nworld"},
		{"the  quick\tbrown fox", "the quick brown fox"},
		{"café Ｃａｆé cafe\u0301", "cafe cafe cafe"},
		{"中\u0301国\u20dd很\ufe0f大", "中国很大"},
		{"京.东·物 流\u200b集\u00ad团", "京东物流集团"},
		{"股🔥票💰大📈涨", "股票大涨"},
		{"①②❸⑷㈤", "123\n4\n五"},
		{"1,2,3", "1\n2\n3"},
		{"30～50毫米，7—8级，2~3天，5–6人", "30-50毫米\n7-8级\n2-3天\n5-6人"},
		{"沪指(3200.120, -0.62, -1.81%)，同比-5%，气温-5℃", "沪指\n3200.120\n-0.62\n-1.81%\n同比\n-5%\n气温\n5c"},
		{"-3.5 -2月 --0.5 ——0.5% 歼-16", "-3.5\n2月\n-0.5\n0.5%歼\n16"},
		{"低0.40米～2.47米，约—0.5%，同比－0.5%，−0.5%", "低0.40米\n2.47米\n约\n0.5%\n同比\n-0.5%\n-0.5%"},
		{"2.4亿-2.8亿元，51%—100%，3元~5元", "2.4亿-2.8亿元\n51%-100%\n3元-5元"},
		{"歼-16——又来了，长征-2，5 — 6", "歼\n16\n又来了\n长征\n2\n5\n6"},
		{"1,234,56", "1\n234\n56"},
		{"12,345.678万", "12345.678万"},
		{"2023-08-09，3:1，5/8，v1.2.3。", "2023-08-09\n3:1\n5/8\nv1.2.3"},
		{"比分3∶1，5–6月，−3℃", "比分3:1\n5-6月\n3c"},
		{"1.京东 2、阿里", "1\n京东2\n阿里"},
		{"千分之三即3‰。", "千分之三即3‰"},
		{"東京證券交易所、裡面、為什麼", "东京证券交易所\n里面\n为什么"},
		{"餅乾與乾隆皇帝，乾坤大挪移", "饼干与乾隆皇帝\n乾坤大挪移"},
		{"看著他的著作，著名作家", "看着他的著作\n著名作家"},
		{"乾。隆", "乾\n隆"},
		{"か\u3099き゛ｶﾞ", "がきガ"},
		{"한국 서울 ᄒ\u1161\u11ab", "한국 서울 한"},
		{"Привет, МИР", "привет\nмир"},
		{"٣٫٥ ૩", "3\n5 3"},
		{"a\xff\xfeb\xc3", "ab"},
		{"ﬁnance ㎡ Ⅳ ㏕", "finance m2 iv mil"},
		{"来源丨新报", "来源\n新报"},
		{"⻓江⻋队，⻛⻰⻑⼤", "长江车队\n风龙长大"},
		{"ロ罩エ厂", "口罩工厂"},
		{"你 好 ， 青 禾 河 全 长 1 8 7 . 5 公 里 。 流 经 四 县", "你好\n青禾河全长187.5公里\n流经四县"},
		{"青.禾.河.全.长.1.8.7...5.公.里.，.增.长.3.%.。", "青禾河全长187.5公里\n增长3%"},
		{"青·禾·A·P·P·在·8·月·9·日·上·线·了", "青禾app在8月9日上线了"},
		{"开奖 0 7 3 5 2 9 8 1 4 6 0 2", "开奖0 7 3 5 2 9 8 1 4 6 0 2"},
		{"甲、乙、丙、丁、戊、己、庚、辛、壬、癸、子、丑、5、6", "甲\n乙\n丙\n丁\n戊\n己\n庚\n辛\n壬\n癸\n子\n丑\n5\n6"},
	} {
		if got := shipped().current.Load().normal(c.in); got != c.want {
			t.Errorf("%q: normal form %q, want %q", c.in, got, c.want)
		}
	}
}

func TestHTML(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"<p>京<b>东</b>物流</p><p>上半年</p>", "京东物流\n上半年"},
		{"一<br>二<td>三</td><span>四</span>", "一\n二\n三\n四"},
		{"前<script>if (a<b) alert('x</p>')</script>后<style>p{}</style>", "前后"},
		{"前<p style='color:red; DISPLAY : none !important'>藏<b>匿</b></p>后", "前\n后"},
		{"前<div hidden><div>藏</div>匿</div>后", "前\n后"},
		{"前<p hidden>藏<p>后", "前\n后"},
		{"<ul><li>一<li hidden>藏<li>二</ul>三", "一\n二\n三"},
		{"<div><span hidden>藏</div>后", "后"},
		{"<head><title>题</title><body>文", "文"},
		{"<html><head><meta charset=utf-8></head><body>文<noscript>开</noscript></body></html>", "文"},
		{"3<5，x <y and z> w", "3\n5\nx\ny and z\nw"},
		{"R&D 投入&nbsp;5&gt;4 &#20013;", "r\nd投入5\n4中"},
		{"<o:p>一</o:p><my-tag>二</my-tag>", "一二"},
		{"如何使用<script>标签", "如何使用\nscript\n标签"},
		{"甲<!-- 注 -->乙<!-- 没有结束", "甲乙\n没有结束"},
		{"甲<!DOCTYPE html>乙", "甲乙"},
		{"图<img src=a alt='不显示'>文", "图文"},
		{"甲 < 乙 > 丙", "甲\n乙\n丙"},
		{"甲<", "甲"},
		{"<textarea>甲", "textarea\n甲"},
	} {
		if got := analyze("", c.in).Body; got != c.want {
			t.Errorf("%q: body %q, want %q", c.in, got, c.want)
		}
	}
}

// forms are changes of form alone: each draws how to change the whole text.
var forms = map[string]func(t *rapid.T, s string) string{
	"as it is": func(t *rapid.T, s string) string { return s },
	"HTML": func(t *rapid.T, s string) string {
		return "<html><head><title>无关</title></head><body><p class=a>" + strings.ReplaceAll(html.EscapeString(s), "\n", "</p>\r\n<p>") +
			"</p><script>var a = '<p>无关</p>'</script></body></html>"
	},
	"inline HTML": func(t *rapid.T, s string) string { return between(t, s, "<b>", "</b>", "<span>", "</span><i></i>") },
	"full width": func(t *rapid.T, s string) string {
		return strings.Map(func(r rune) rune {
			if r > ' ' && r < 0x7f {
				return r + 0xfee0
			}
			return r
		}, s)
	},
	"upper case": func(t *rapid.T, s string) string { return strings.ToUpper(s) },
	"zero width": func(t *rapid.T, s string) string {
		return between(t, s, "\u200b", "\u200d", "\ufeff", "\u2060", "\u3164")
	},
	"combining marks": func(t *rapid.T, s string) string { return between(t, s, "\u0336", "\u20dd", "\u0301", "\ufe0f") },
	"spaces":          func(t *rapid.T, s string) string { return betweenHan(t, s, " ", "\u3000", "\u00a0", "\t", "  ") },
	"dots":            func(t *rapid.T, s string) string { return betweenHan(t, s, ".", "·", "*", "_", "|", "丨") },
	"emoji": func(t *rapid.T, s string) string {
		return betweenHan(t, s, "🔥", "👍🏽", "❤️", "✨", "👨‍👩‍👧")
	},
	"other breaks": func(t *rapid.T, s string) string { return betweenHan(t, s, "\n", "\r\n", "\n\n", "。", "！？") },
	"traditional":  func(t *rapid.T, s string) string { return traditional(s) },
	"compatible forms": func(t *rapid.T, s string) string {
		return strings.NewReplacer("1", "①", "2", "²", "3", "𝟛", "金", "⾦", "年", "\uf98e").Replace(s)
	},
	"no punctuation": func(t *rapid.T, s string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune("，。、；！？“”\n", r) {
				return -1
			}
			return r
		}, s)
	},
	"residue": func(t *rapid.T, s string) string {
		return s + rapid.SampledFrom([]string{
			"\n责任编辑：王小明", "（责任编辑：李四 CN012）", "\n分享让更多人看到", "返回搜狐，查看更多\n责任编辑：",
			"\n版权声明：本报所有稿件，未经授权不得转载。", "\n本文不构成投资建议，股市有风险，投资需谨慎。", "\n编辑：张三\n校对：李四", "\n阅读原文",
		}).Draw(t, "residue")
	},
	"headline repeated": func(t *rapid.T, s string) string { return bulletinTitle + "\n" + s },
}

// between puts drawn strings between characters of s.
func between(t *rapid.T, s string, what ...string) string {
	return weave(t, s, what, func(a, b rune) bool { return true })
}

// betweenHan puts them only between Han characters.
func betweenHan(t *rapid.T, s string, what ...string) string {
	return weave(t, s, what, func(a, b rune) bool { return unicode.Is(unicode.Han, a) && unicode.Is(unicode.Han, b) })
}

func weave(t *rapid.T, s string, what []string, fits func(a, b rune) bool) string {
	every := rapid.IntRange(1, 9).Draw(t, "every")
	var b strings.Builder
	last := rune(0)
	for i, r := range []rune(s) {
		if i%every == 0 && i > 0 && fits(last, r) {
			b.WriteString(what[i/every%len(what)])
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// traditional writes s with the traditional characters of the shipped table,
// where there is no doubt.
func traditional(s string) string {
	return strings.Map(func(r rune) rune {
		if to, ok := toTraditional()[r]; ok {
			return to
		}
		return r
	}, s)
}

var toTraditional = sync.OnceValue(func() map[rune]rune {
	v := shipped().current.Load().folds.variants
	back := map[rune]rune{}
	for from, to := range v.single {
		if old, ok := back[to]; !v.unsettledRune(from) && !v.unsettledRune(to) && (!ok || from < old) {
			back[to] = from
		}
	}
	return back
})

// Texts that differ in form alone are the same: same content hash, same terms,
// distance 0.
func TestFormDoesNotMatter(t *testing.T) {
	want := analyze(bulletinTitle, bulletin)
	content, terms := string(want.content), append([]Term(nil), want.Terms...)
	for name, change := range forms {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				body := change(t, bulletin)
				got := analyze(bulletinTitle, body)
				if got.Exact != want.Exact {
					t.Fatalf("another content: %s", cmp.Diff(content, string(got.content)))
				}
				if !slices.Equal(terms, got.Terms) {
					t.Fatalf("other terms: %s", cmp.Diff(terms, got.Terms))
				}
				p, q := fingerprint(want), fingerprint(got)
				if d := simhash.Distance(p.Fingerprint, q.Fingerprint); d != 0 {
					t.Fatalf("distance %d", d)
				}
			})
		})
	}
}

// A headline counts where the body is short, and only there.
func TestHeadline(t *testing.T) {
	if a, b := analyze("甲地通报疫情", bulletin), analyze("另一个标题", bulletin); a.Exact != b.Exact {
		t.Error("another headline makes another text")
	}
	if a, b := analyze("系统更新测试版三", "需要留意的是各地推送时间略有不同。"), analyze("系统更新测试版八", "需要留意的是各地推送时间略有不同。"); a.Exact == b.Exact {
		t.Error("a short body with another headline is the same text")
	}
}

func TestBlank(t *testing.T) {
	for _, s := range []string{"", " \r\n", "。，！", "🔥🔥🔥", "<p></p>", "<script>var a = 1</script>", "\u200b\u3164", "\xff\xfe", "&nbsp;"} {
		x := analyze(s, s)
		if !x.Blank || len(x.Terms) > 0 || len(x.Begins) > 0 || x.Exact != [16]byte{} || x.Body != "" || x.Title != "" {
			t.Errorf("%q is not blank: %q, %v", s, x.Body, x.Terms)
		}
	}
	for _, s := range []string{"的", "1", "a", "о", "한", "。，的", "责任编辑：王小明", "原标题："} {
		if x := analyze("", s); x.Blank || len(x.Terms) == 0 || x.Exact == [16]byte{} {
			t.Errorf("%q is blank, or has no terms: %q, %v", s, x.Body, x.Terms)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		body string
		want []string
	}{
		{"阿里巴巴在杭州宣布与腾讯合作，杭州是主场。", []string{"阿里巴巴", "杭州", "腾讯", "杭州"}},
		{"价格一路向上，海军演习", nil},
		{"大家都去东，京城在哪", nil},
		{"大家都去东京", []string{"东京"}},
	} {
		x := analyze("", c.body)
		if d := cmp.Diff(c.want, namesOf(x)); d != "" {
			t.Errorf("%s: cut into %q: %s", c.body, wordsOf(x), d)
		}
	}
}

func wordsOf(x *Text) (words []string) {
	for w := range x.Words {
		words = append(words, w)
	}
	return words
}

// namesOf are the names among the words, within a clause, as Begins has them.
func namesOf(x *Text) (names []string) {
	form := x.Body
	if x.headed() {
		form = x.Title + "\n" + x.Body
	}
	for i, begin := range x.Begins {
		end := len(form)
		if i+1 < len(x.Begins) {
			end = int(x.Begins[i+1] >> 2)
		}
		name := strings.TrimRight(form[begin>>2:end], "\n ")
		if begin&1 == 1 && !strings.Contains(name, "\n") {
			names = append(names, name)
		}
	}
	return names
}

// Words of two characters in the titles of works are names; a text may have any number of marks.
func TestTitles(t *testing.T) {
	for _, c := range []struct{ title, body, want string }{
		{"", "乐园推荐《荷叶的伞》和《风筝》，荷叶很好。", "荷叶 风筝"},
		{"听《荷叶》", "今天推荐《风筝》", "荷叶 风筝"},
		{"", "》荷叶《风筝", ""},
		{"", strings.Repeat("《", 9) + "荷叶" + strings.Repeat("》", 9), "荷叶"},
		{"", "推荐《风筝》" + strings.Repeat("《荷》", 2*titlesMost) + "《荷叶》", "风筝"},
	} {
		if got := strings.Join(namesOf(analyze(c.title, c.body)), " "); got != c.want {
			t.Errorf("%.60q: names %q, want %q", c.title+c.body, got, c.want)
		}
	}
}

// A Text that is used again holds nothing of what it held before.
func TestTextIsReusable(t *testing.T) {
	s := shipped()
	var used Text
	for _, body := range []string{bulletin, "短", "", "<p>网页</p>", "乾隆" + bulletin, "1,234.5"} {
		s.Analyze(&used, bulletinTitle, body)
		fresh := analyze(bulletinTitle, body)
		if used.Title != fresh.Title || used.Body != fresh.Body || used.Exact != fresh.Exact || used.Blank != fresh.Blank {
			t.Errorf("%.20q: used again %q, fresh %q", body, used.Body, fresh.Body)
		}
		for _, d := range []string{cmp.Diff(fresh.Terms, used.Terms, cmpopts.EquateEmpty()), cmp.Diff(fresh.Begins, used.Begins, cmpopts.EquateEmpty())} {
			if d != "" {
				t.Errorf("%.20q: %s", body, d)
			}
		}
	}
}
