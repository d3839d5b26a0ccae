package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var letters = rapid.SampledFrom([]rune("我们今天在北京上海发布了新的公告三十万亿0123456789年月日ab \n"))

func drawText(t *rapid.T, label string) string {
	return rapid.StringOfN(letters, 0, 400, -1).Draw(t, label)
}

// TestTokensCover: tokens lie in order, inside the text, and between them are only spaces and the punctuation of numbers.
func TestTokensCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, end := drawText(t, "text"), 0
		for _, tok := range tokensOf(s) {
			if int(tok.start) < end || tok.end <= tok.start || int(tok.end) > len(s) || strings.Trim(s[end:tok.start], " \n.") != "" {
				t.Fatalf("token %v after %d of %q", tok, end, s)
			}
			end = int(tok.end)
		}
	})
}

// TestNumbersAreOneToken: a number is one token whatever its length, and the same one however it is written.
func TestNumbersAreOneToken(t *testing.T) {
	for _, group := range [][]string{{"3000", "三千", "3千"}, {"12.00", "12"}, {"1.2亿", "12000万"}, {"两万三千", "23000"}, {"一百零八", "108"}} {
		for _, s := range group {
			if got, want := tokensOf(s), tokensOf(group[0]); len(got) != 1 || got[0].id != want[0].id {
				t.Errorf("%s is not %s: %v", s, group[0], got)
			}
		}
	}
	for _, word := range []string{"十分", "万一", "三五", "一些", "千万", "百姓"} {
		if slices.ContainsFunc(tokensOf(word), token.number) {
			t.Errorf("%s has a number", word)
		}
	}
}

// TestAlignShort: texts too short to have anything in common have quantities all the same.
func TestAlignShort(t *testing.T) {
	for _, pair := range [][2]string{{"25日", "在北京26日"}, {"3.5%", "北京的4.5%"}, {"", "3000元"}} {
		g := Align(NewDoc(&Text{Body: pair[0]}), NewDoc(&Text{Body: pair[1]})).Agreement()
		if want := min(len(pair[0]), 1); len(g.Conflicts) != want {
			t.Errorf("%q: %v", pair, g)
		}
	}
}

// TestAlignAgainstSets holds resemblance and containment against sets of shingles.
func TestAlignAgainstSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawText(t, "later"), drawText(t, "earlier")
		if rapid.Bool().Draw(t, "related") {
			y = string([]rune(x)[:len([]rune(x))/2]) + "\n" + y
		}
		a, b := NewDoc(&Text{Body: x}), NewDoc(&Text{Body: y})
		al := Align(a, b)
		if len(a.tokens) == 0 || a.k != b.k {
			return
		}
		set := func(d *Doc) (of map[string]int, all int) {
			of = map[string]int{}
			for i := 0; i+d.k <= len(d.tokens); i++ {
				key := ""
				for _, tok := range d.tokens[i : i+d.k] {
					key += fmt.Sprintf("%x,", tok.id)
				}
				of[key]++
				all++
			}
			return of, all
		}
		p, nA := set(a)
		q, nB := set(b)
		both, inA, inB := 0, 0, 0
		for key, n := range p {
			if m := q[key]; m > 0 {
				both, inA, inB = both+1, inA+n, inB+m
			}
		}
		near := func(what string, got float32, n, of int) {
			if math.Abs(float64(got)-float64(n)/float64(max(1, of))) > 1e-5 {
				t.Fatalf("%s %v, want %d of %d", what, got, n, of)
			}
		}
		near("later", al.Later.Contained, inA, nA)
		near("earlier", al.Earlier.Contained, inB, nB)
		near("resemblance", al.Resemblance, both, len(p)+len(q)-both)
	})
}

// TestMatches: matches are equal runs; no token of either text is in two; those that did not move are in order in both.
func TestMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawText(t, "later"), drawText(t, "earlier")
		if cut := rapid.IntRange(0, 2).Draw(t, "mix"); cut > 0 {
			r := []rune(x)
			y = string(r[len(r)/2:]) + "\n" + y + "\n" + string(r[:len(r)/2])
		}
		a, b := NewDoc(&Text{Body: x}), NewDoc(&Text{Body: y})
		al := Align(a, b)
		usedA, usedB := make([]bool, len(a.tokens)), make([]bool, len(b.tokens))
		lastA, lastB := 0, 0
		for _, m := range al.Matches {
			if !m.Moved && (m.Later < lastA || m.Earlier < lastB) {
				t.Fatalf("out of order: %+v", m)
			}
			if !m.Moved {
				lastA, lastB = m.Later+m.N, m.Earlier+m.N
			}
			for k := range m.N {
				if usedA[m.Later+k] || usedB[m.Earlier+k] || a.tokens[m.Later+k].id != b.tokens[m.Earlier+k].id {
					t.Fatalf("token %d of %+v is matched twice, or not equal", k, m)
				}
				usedA[m.Later+k], usedB[m.Earlier+k] = true, true
			}
		}
	})
}

// TestJudgeIsSane: a text is a copy of itself; whatever is judged, one step of the trace decided, and shares are shares.
func TestJudgeIsSane(t *testing.T) {
	limits := DefaultLimits()
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawText(t, "later"), drawText(t, "earlier")
		a, b := NewDoc(&Text{Body: x}), NewDoc(&Text{Body: y})
		if j := Judge(a, a, &limits); len(a.tokens) > 0 && j.Kind != Duplicate {
			t.Fatalf("a text is no copy of itself: %v", j.Trace)
		}
		checkJudgement(t, Judge(a, b, &limits))
	})
}

// TestExchanged: a sentence whose words have changed places says something else.
func TestExchanged(t *testing.T) {
	for _, c := range []struct {
		what, earlier, later string
		moved                bool
	}{
		{"characters", "其中甲是粒子的磁荷\n而乙是电磁场的电矢势", "其中甲是粒子的电荷\n而乙是电磁场的磁矢势", true},
		{"numbers", "他最好的名次是1960年的第14名和1968年的第30名", "他最好的名次是1960年的第30名和1968年的第14名", true},
		{"Latin words", "周一晚上在河边的比赛中arlo用三局击败了brix", "周一晚上在河边的比赛中brix用三局击败了arlo", true},
		{"clauses, as they are", "昨晚青禾河水位上涨\n三座桥停止通行", "三座桥停止通行\n昨晚青禾河水位上涨", false},
		{"one word for another", "昨晚青禾河水位上涨\n三座桥停止通行", "昨夜青禾河水位上涨\n三座桥停止通行", false},
	} {
		limits := DefaultLimits()
		j := Judge(NewDoc(&Text{Body: c.later}), NewDoc(&Text{Body: c.earlier}), &limits)
		if (j.Reason == Moved) != c.moved {
			t.Errorf("%s: %v, %s: %+v", c.what, j.Kind, j.Reason, j.Trace)
		}
	}
}

// TestTitles: pages of one form are about what their headlines name, although they name each other; a copy under another
// headline is about the same.
func TestTitles(t *testing.T) {
	page := func(name, other string) *Doc {
		body := name + " 属性\n返回当前表格的设置\n" + name + " 是字符串\n可以在运行时读取和写入\n更改后需要重新载入表格\n" +
			"一个表格最多有三十列\n每一列有各自的宽度和名称\n另请参阅 " + other + " 属性"
		return NewDoc(&Text{Title: name + " 属性", Body: body})
	}
	limits := DefaultLimits()
	a, b := page("rowwidth", "colwidth"), page("colwidth", "rowwidth")
	c, d := *a.Text, *b.Text // each names the other as often as itself
	c.Body, d.Body = a.Text.Body+"\n与 colwidth 一起使用", b.Text.Body+"\n与 rowwidth 一起使用"
	for _, pages := range [][2]*Doc{{b, a}, {NewDoc(&d), NewDoc(&c)}} {
		if j := Judge(pages[0], pages[1], &limits); j.Kind != Series {
			t.Errorf("two pages of one form: %v, %s: %+v", j.Kind, j.Reason, j.Trace)
		}
	}
	retitled := *a.Text
	retitled.Title = "colwidth 属性"
	if j := Judge(NewDoc(&retitled), a, &limits); j.Kind != Duplicate {
		t.Errorf("one page under another headline: %v, %s", j.Kind, j.Reason)
	}
	body := strings.ReplaceAll(a.Text.Body, "rowwidth", "该值")
	under := func(title, more string) *Doc { return NewDoc(&Text{Title: title, Body: body + more}) }
	if j := Judge(under("setheight 方法", ""), under("getdepth 方法", "\n见下表"), &limits); j.Kind != Series {
		t.Errorf("names that only the headlines say: %v, %s", j.Kind, j.Reason)
	}
	if j := Judge(under("表格的列\nasite", ""), under("表格的列\nbsite", "\n见下表"), &limits); j.Kind < Suspect {
		t.Errorf("one headline with the names of two sites: %v, %s", j.Kind, j.Reason)
	}
}

// TestSites: what a source puts behind its headlines, and their bodies do not say, is no part of them, also where it is a
// name and the headline is compared with a short body.
func TestSites(t *testing.T) {
	learned := &Residue{HashClause("_青禾新闻"): true, HashClause("_时政"): true, HashClause("_柳桥集团"): true}
	for _, c := range []struct{ title, body, want string }{
		{"柳桥村修桥\n青禾新闻", "桥长三百米", "柳桥村修桥"},
		{"柳桥村修桥\n时政\n青禾新闻", "桥长三百米", "柳桥村修桥"},
		{"柳桥村修桥\n青禾新闻\n第二页", "桥长三百米", "柳桥村修桥\n青禾新闻\n第二页"},
		{"年度报告\n柳桥集团", "柳桥集团的报告", "年度报告\n柳桥集团"},
		{"青禾新闻", "桥长三百米", "青禾新闻"},
	} {
		d := NewDoc(&Text{Title: c.title, Body: c.body, Learned: learned})
		if d.headline != c.want {
			t.Errorf("%q: %q, want %q", c.title, d.headline, c.want)
		}
	}
	// Of a short text with its headline, too: a name alone stays elsewhere (TestLearnedNames).
	d := NewDoc(&Text{Title: "柳桥村修桥\n青禾新闻", Body: "桥长三百米", Learned: learned, Words: []int32{0, 16<<2 | 3, 29 << 2}})
	if want := NewDoc(&Text{Title: "柳桥村修桥", Body: "桥长三百米"}); len(d.tokens) != len(want.tokens) {
		t.Errorf("%d tokens are compared, want %d", len(d.tokens), len(want.tokens))
	}
}

// TestShortNotices: two notices of one form are about two officials, however little of either is a clause of its own.
func TestShortNotices(t *testing.T) {
	of := func(whence, who, by, end string) *Doc {
		return NewDoc(&Text{Body: "中央纪委国家监委网站讯据" + whence + "纪委监委消息\n" + who + "涉嫌严重违纪违法\n目前正接受" + by + "监察调查" + end})
	}
	limits := DefaultLimits()
	earlier := of("云北省", "池山开发区党工委书记\n管委会主任甲乙丙", "云北省纪委监委纪律审查和", "\n云北省纪委监委")
	for _, later := range []*Doc{
		of("中央纪委国家监委驻甲乙银行纪检监察组\n山南省", "甲乙银行总部经理丁戊", "中央纪委国家监委驻甲乙银行纪检监察组纪律审查和山南省左州市监察委员会", ""),
		of("云北省", "云北省公安厅交通管理局原党委书记\n局长己庚辛", "云北省纪委监委纪律审查和", "\n云北省纪委监委"),
	} {
		if j := Judge(later, earlier, &limits); j.Kind == Duplicate {
			t.Errorf("%s: %v, %s: %+v", later.Form, j.Kind, j.Reason, j.Trace)
		}
	}
}

// TestLearnedNames: a clause that recurs in a source's articles carries no weight, unless it is a name alone: two notices
// of one form may differ in no more.
func TestLearnedNames(t *testing.T) {
	notice := func(place string) *Doc {
		body := place + "\n因管道检修将于明日零时起停止供水\n请居民提前储水并关好水龙头\n恢复供水后先放水一刻钟再用\n" +
			"医院和学校由水车送水\n检修期间车辆请绕行沿河路\n给您带来不便敬请谅解\n更多通知见客户端"
		names := []int32{0<<2 | 3, int32(len(place)+1) << 2}
		return NewDoc(&Text{Body: body, Words: names, Learned: &Residue{HashClause("南屏市"): true,
			HashClause("海岬市"): true, HashClause("更多通知见客户端"): true}})
	}
	limits := DefaultLimits()
	if j := Judge(notice("海岬市"), notice("南屏市"), &limits); j.Kind == Duplicate {
		t.Errorf("notices of two cities: %v, %s: %+v", j.Kind, j.Reason, j.Trace)
	}
	if d := notice("海岬市"); d.Form[d.tokens[len(d.tokens)-1].end:] != "\n更多通知见客户端" {
		t.Errorf("compared up to %q", d.Form[:d.tokens[len(d.tokens)-1].end])
	}
}

func checkJudgement(t interface{ Fatalf(string, ...any) }, j Judgement) {
	decided := 0
	for _, s := range j.Trace {
		if s.Decided {
			decided++
		}
	}
	if decided != 1 {
		t.Fatalf("trace %+v", j.Trace)
	}
	for _, v := range []float32{j.Resemblance, j.Later.Contained, j.Later.Covered, j.Earlier.Contained, j.Earlier.Covered, j.New.Share} {
		if !(v >= 0 && v <= 1) {
			t.Fatalf("share %v", v)
		}
	}
}

// FuzzJudge: any bytes compare.
func FuzzJudge(f *testing.F) {
	f.Add("8月9日三千人\nabc 3.5%", "8月10日三千人", "标题")
	f.Add("0", "0", "A") // words beyond the end of the text
	limits := DefaultLimits()
	f.Fuzz(func(t *testing.T, x, y, title string) {
		a := NewDoc(&Text{Title: title, Body: x, Words: []int32{1, 14, 24}})
		checkJudgement(t, Judge(a, NewDoc(&Text{Body: y}), &limits))
		checkJudgement(t, Judge(NewDoc(&Text{Title: title, Body: y}), a, &limits))
	})
}

func TestEncodingRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSketch(&Text{Title: drawText(t, "title"), Body: drawText(t, "body")})
		b := s.AppendBinary(nil)
		got, err := DecodeSketch(b)
		if err != nil || len(b) > 140 {
			t.Fatal(err, len(b))
		}
		if diff := cmp.Diff(s, got, cmp.AllowUnexported(Sketch{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzDecodeSketch(f *testing.F) {
	s := NewSketch(&Text{Body: "今天8月9日北京发布3000个公告\n涨3.5%"})
	f.Add(s.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSketch(b)
		if err != nil {
			return
		}
		if again, err := DecodeSketch(s.AppendBinary(nil)); err != nil || again != s {
			t.Fatalf("decoded %x does not come back: %v", b, err)
		}
		s.Overlap(&s.Outline)
		s.Keys()
	})
}

// TestOverlap: an estimate is near what the texts have in common, and highest for a copy.
func TestOverlap(t *testing.T) {
	body := ""
	for i := range 200 {
		body += fmt.Sprintf("第%d号堤坝在%d时完成巡查", i, i*7%24)
	}
	later := body[:len(body)/3*2] + strings.Repeat("此外全市学校停课一天", 3)
	s, o := NewSketch(&Text{Body: later}), NewSketch(&Text{Body: body})
	x := Align(NewDoc(&Text{Body: later}), NewDoc(&Text{Body: body}))
	if e := s.Overlap(&o.Outline); math.Abs(float64(e.Resemblance-x.Resemblance)) > .15 {
		t.Errorf("resemblance %v, estimated %v", x.Resemblance, e.Resemblance)
	}
	if e, same := s.Overlap(&o.Outline), o.Overlap(&o.Outline); same.Later <= e.Later || same.Resemblance != 1 {
		t.Errorf("%+v of a copy, %+v of two thirds", same, e)
	}
}
