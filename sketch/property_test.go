package sketch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func tokensOf(s string) []token { return appendTokens(nil, s) }

func TestFigures(t *testing.T) {
	same := [][]string{
		{"3000", "三千", "3千"},
		{"12.00", "12"},
		{"1.2亿", "12000万", "120000000"},
		{"二十五", "25"},
		{"一百零八", "108"},
		{"两万三千", "23000"},
		{"十二", "12"},
		{"2024年", "二〇二四年", "二零二四年"},
		{"第3次", "第三次"},
		{"14届2次会议", "十四届二次会议"},
	}
	figures := func(s string) (hashes []uint64) {
		for _, tok := range tokensOf(s) {
			if tok.kind.isNumber() {
				hashes = append(hashes, tok.hash)
			}
		}
		return hashes
	}
	for _, group := range same {
		for _, s := range group[1:] {
			if a, b := figures(group[0]), figures(s); len(a) == 0 || !slices.Equal(a, b) {
				t.Errorf("%s and %s are not one figure: %v %v", group[0], s, a, b)
			}
		}
	}
	differ := []string{"5.99", "5.94", "5.99%", "12:30", "12.3", "1230", "2023年", "2023", "8月", "8日", "8"}
	for i, x := range differ {
		for _, y := range differ[:i] {
			if tokensOf(x)[0].hash == tokensOf(y)[0].hash {
				t.Errorf("%s and %s are one figure", x, y)
			}
		}
	}
	for _, words := range []string{"十分", "万一", "三五", "一些", "千万", "百姓", "一次", "二〇"} {
		if figures(words) != nil {
			t.Errorf("%s has a figure", words)
		}
	}
}

// TestTokensCover checks that tokens lie in order, inside the text, apart, and
// that what is between them is only space.
func TestTokensCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawText(t, "text")
		end := 0
		for _, tok := range tokensOf(s) {
			if int(tok.start) < end || tok.end <= tok.start || int(tok.end) > len(s) {
				t.Fatalf("token %v after %d of %d", tok, end, len(s))
			}
			if gap := strings.Trim(s[end:tok.start], " \n"); gap != "" {
				t.Fatalf("%q left out", gap)
			}
			end = int(tok.end)
		}
		if gap := strings.Trim(s[end:], " \n"); gap != "" {
			t.Fatalf("%q left out", gap)
		}
	})
}

// shinglesOf is the set of shingles by the book.
func shinglesOf(tokens []token, k int) map[string]bool {
	set := map[string]bool{}
	for i := 0; i+k <= len(tokens); i++ {
		var b strings.Builder
		for _, t := range tokens[i : i+k] {
			fmt.Fprintf(&b, "%x,", t.hash)
		}
		set[b.String()] = true
	}
	return set
}

func TestCompareTextsAgainstSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawText(t, "query"), drawText(t, "earlier")
		if rapid.Bool().Draw(t, "related") {
			y = x[:len(x)/2] + "\n" + y
		}
		y = strings.ToValidUTF8(y, "")
		c := compareTexts(Input{Body: x}, Input{Body: y})
		q, e := tokensOf(x), tokensOf(y)
		if len(q) == 0 || len(e) == 0 {
			return
		}
		for _, m := range []struct {
			k            int
			inQ, inC, j  float32
			resemblances bool
		}{{shingleK, c.ContainedA, c.ContainedB, c.Resemblance, true}, {softK, c.SoftA, c.SoftB, 0, false}} {
			k := min(m.k, len(q), len(e))
			a, b := shinglesOf(q, k), shinglesOf(e, k)
			both := 0
			for s := range a {
				if b[s] {
					both++
				}
			}
			near := func(got float32, n, of int) {
				if want := float64(n) / float64(max(1, of)); math.Abs(want-float64(got)) > 1e-6 {
					t.Fatalf("k=%d: %v, want %d/%d", m.k, got, n, of)
				}
			}
			near(m.inQ, both, len(a))
			near(m.inC, both, len(b))
			if m.resemblances {
				near(m.j, both, len(a)+len(b)-both)
			}
		}
	})
}

// TestRuns checks that the alignment is one: runs are equal text, apart and in
// order in the query, and no longer run is passed over where one starts.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawText(t, "query"), drawText(t, "earlier")
		y += "\n" + x[:len(x)/2]
		y = strings.ToValidUTF8(y, "")
		q := NewQuery(Input{Body: x})
		defer q.Close()
		w := q.w
		w.overlaps(&Input{Body: y})
		if len(w.q.tokens) == 0 || len(w.c.tokens) == 0 {
			return
		}
		k := min(shingleK, len(w.q.tokens), len(w.c.tokens))
		w.align(k)
		end := int32(0)
		for _, r := range w.runs {
			if r.q < end || r.n < int32(k) {
				t.Fatalf("run %v after %d", r, end)
			}
			end = r.q + r.n
			for i := range r.n {
				if w.q.tokens[r.q+i].hash != w.c.tokens[r.c+i].hash {
					t.Fatalf("run %v differs at %d", r, i)
				}
			}
			if int(end) < len(w.q.tokens) && int(r.c+r.n) < len(w.c.tokens) && w.q.tokens[end].hash == w.c.tokens[r.c+r.n].hash {
				t.Fatalf("run %v could be longer", r)
			}
		}
	})
}

// TestQueryForgets: a comparison does not depend on those that the query had
// before, and judging leaves out only what cannot matter.
func TestQueryForgets(t *testing.T) {
	names := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '的' })
	}
	rapid.Check(t, func(t *rapid.T) {
		in := func(label string) Input {
			s := drawText(t, label)
			return Input{Title: drawText(t, label+" title"), Body: s, Names: names(s), Published: rapid.Int32Range(0, 90).Draw(t, "day")}
		}
		first := in("query")
		q := NewQuery(first)
		defer q.Close()
		th := DefaultThresholds()
		for range 4 {
			c := in("earlier")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				c.Body = strings.ToValidUTF8(first.Body[:len(first.Body)*3/4], "") + c.Body
			case 1:
				c.Title, c.Body = "", rapid.SampledFrom([]string{"", "三", "前", "此前", "此\n前"}).Draw(t, "short")
			case 2:
				c.Names = names(first.Body)
			}
			want := compareTexts(first, c)
			if diff := cmp.Diff(want, q.Align(c).Comparison); diff != "" {
				t.Fatal(diff)
			}
			k := Judge(want, th)
			got, j := q.Judge(c, th)
			if k.Kind == Unrelated && j.Kind == Unrelated && got.Resemblance == want.Resemblance {
				continue
			}
			if diff := cmp.Diff(want, got.Comparison) + cmp.Diff(k, j); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// TestCompareIsSymmetric: what is no matter of which text came first. Slots and clauses are: of equally long runs the alignment takes
// the first one of the later text.
func TestCompareIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := Input{Body: drawText(t, "a")}, Input{Body: drawText(t, "b")}
		x, y := Make(a), Make(b)
		for _, pair := range [][2]Comparison{{Compare(&x, &y), Compare(&y, &x)}, {compareTexts(a, b), compareTexts(b, a)}} {
			p, q := pair[0], pair[1]
			if p.Resemblance != q.Resemblance || p.ContainedA != q.ContainedB || p.SoftA != q.SoftB || p.Facts.OnlyA != q.Facts.OnlyB {
				t.Fatalf("%+v\n%+v", p, q)
			}
		}
	})
}

// TestEstimates holds the sketch to what 96 bins can tell: three standard
// deviations of the resemblance, over many pairs of known resemblance.
func TestEstimates(t *testing.T) {
	const pairs = 200
	sum, squares := 0., 0.
	for i := range pairs {
		x, y := article(60, 2*i), article(60, 2*i+1)
		cut := strings.Index(x[len(x)*i/pairs:], "\n") + len(x)*i/pairs
		a := Input{Body: x}
		b := Input{Body: x[:cut+1] + y}
		p, q := Make(a), Make(b)
		off := float64(Compare(&p, &q).Resemblance - compareTexts(a, b).Resemblance)
		sum += off
		squares += off * off
	}
	if mean := sum / pairs; math.Abs(mean) > .015 {
		t.Errorf("biased by %.3f", mean)
	}
	if dev := math.Sqrt(squares / pairs); dev > .06 {
		t.Errorf("off by %.3f", dev)
	}
}

// TestCopiesAreDuplicates: a text of any length is a duplicate of itself, and of itself
// with one more sentence. Two unrelated texts have nothing in common.
func TestCopiesAreDuplicates(t *testing.T) {
	th := DefaultThresholds()
	for n := 3; n < 400; n = n*3/2 + 1 {
		for seed := range 8 {
			x, y := article(n, seed), article(n, seed+100)
			more := x + article(max(1, n/20), seed+50)
			for name, body := range map[string]string{"itself": x, "a sentence more": more} {
				a, b := Input{Body: body}, Input{Body: x}
				p, q := Make(a), Make(b)
				if name != "itself" && n < 20 {
					continue
				}
				if j := Judge(compareTexts(a, b), th); j.Kind != Duplicate || j.Reason != SameText {
					t.Errorf("%d clauses and %s: %+v", n, name, j)
				}
				if j := Judge(Compare(&p, &q), th); n > 20 && j.Kind != Duplicate {
					t.Errorf("%d clauses and %s, by sketch: %+v", n, name, j)
				}
			}
			if j := Judge(compareTexts(Input{Body: x}, Input{Body: y}), th); n > 5 && j.Kind != Unrelated {
				t.Errorf("unrelated texts of %d clauses: %+v", n, j)
			}
		}
	}
}

func TestBulletinsAreASeries(t *testing.T) {
	bulletin := func(company, code, day string, figures ...string) Input {
		body := "股票行情快报\n" + company + "\n" + code + "\n" + day + "主力资金净流出" + figures[0] + "万元\n截至" + day + "收盘\n" + company +
			"报收于" + figures[1] + "元\n下跌" + figures[2] + "\n换手率" + figures[3] + "\n成交量" + figures[4] + "万手\n成交额" + figures[5] +
			"万元\n资金流向数据方面\n游资资金净流入" + figures[6] + "万元\n散户资金净流出" + figures[7] +
			"万元\n本栏数据由程序整理\n内容仅供读者参考\n不构成任何投资建议\n据此操作风险自负"
		return Input{Body: body}
	}
	a := bulletin("远山股份", "600001", "8月3日", "515.41", "5.99", "0.99%", "0.57%", "3.69", "2212.67", "37.31", "478.11")
	b := bulletin("远山股份", "600001", "8月4日", "82.56", "5.94", "0.83%", "0.53%", "3.41", "2040.78", "18.26", "100.81")
	th := DefaultThresholds()
	c := compareTexts(b, a)
	if j := Judge(c, th); j.Kind != Series || j.Reason != OtherFacts {
		t.Errorf("%+v of %+v", j, c)
	}
	var conflicts []string
	x := Align(b, a)
	for _, p := range x.Pairs {
		if p.Conflict {
			conflicts = append(conflicts, x.Later.Text[p.Later.Start:p.Later.End]+" / "+x.Earlier.Text[p.Earlier.Start:p.Earlier.End])
		}
	}
	if want := []string{"8月4日 / 8月3日", "82.56万元 / 515.41万元", "8月4日 / 8月3日", "5.94元 / 5.99元"}; len(conflicts) < 4 || !slices.Equal(conflicts[:4], want) {
		t.Errorf("conflicts %q", conflicts)
	}
	copied := a
	copied.Body = "转载\n" + a.Body + "\n责任编辑"
	if j := Judge(compareTexts(copied, a), th); j.Kind != Duplicate {
		t.Errorf("true copy: %+v", j)
	}
	// The copy of a bulletin meets it by its figures among any number of siblings.
	original, y, z := Make(a), Make(copied), Make(b)
	own := original.PassageKeys()[len(original.PassageKeys())-1]
	if !slices.Contains(y.PassageKeys(), own) || slices.Contains(z.PassageKeys(), own) {
		t.Error("the key of the figures does not tell the copy from its sibling")
	}
}

// TestPassagesAreMet: an article inside a round-up three times its length.
func TestPassagesAreMet(t *testing.T) {
	met := 0
	const all = 60
	for seed := range all {
		x := article(40, seed)
		round := article(20, seed+500) + x + article(20, seed+900)
		p, q := Make(Input{Body: x}), Make(Input{Body: round})
		for _, k := range p.PassageKeys() {
			if slices.Contains(q.PassageKeys(), k) {
				met++
				break
			}
		}
	}
	if met < all*9/10 {
		t.Errorf("%d of %d met", met, all)
	}
}

// TestLeadsAreMet: the first sentences of an article twenty times their length.
func TestLeadsAreMet(t *testing.T) {
	met := 0
	const all = 60
	for seed := range all {
		p, q := Make(Input{Body: clauses(5, 20*seed)}), Make(Input{Body: clauses(100, 20*seed)})
		if slices.ContainsFunc(p.PassageKeys(), func(k uint64) bool { return slices.Contains(q.PassageKeys(), k) }) {
			met++
		}
	}
	if met < all {
		t.Errorf("%d of %d met", met, all)
	}
}

func TestBlank(t *testing.T) {
	blank := Make(Input{Body: " \n "})
	some := Make(Input{Body: article(20, 1)})
	if blank != (Sketch{}) || len(blank.Keys())+len(blank.PassageKeys()) > 0 {
		t.Errorf("%+v", blank)
	}
	for _, c := range []Comparison{Compare(&blank, &some), Compare(&some, &blank), Compare(&blank, &blank), compareTexts(Input{}, Input{})} {
		if j := Judge(c, DefaultThresholds()); j.Kind != Unrelated {
			t.Errorf("%+v", j)
		}
	}
}

// TestExcerptsAddNothing: a quarter of an article, and nothing else, is a copy. A tenth may be one matter of a
// round-up, and is for editors to judge.
func TestExcerptsAddNothing(t *testing.T) {
	for seed := range 8 {
		x := article(60, seed)
		for part, want := range map[int]Kind{4: Duplicate, 10: Suspect} {
			at := strings.Index(x[len(x)/3:], "\n") + len(x)/3 + 1
			to := strings.Index(x[at+len(x)/part:], "\n") + at + len(x)/part
			c := compareTexts(Input{Body: x[at:to]}, Input{Body: x})
			if j := Judge(c, DefaultThresholds()); j.Kind != want {
				t.Errorf("one in %d: %+v of %+v", part, j, c)
			}
		}
	}
}

// TestTimeApart: weeks between two texts speak against a copy; a day or two,
// or not knowing, says nothing.
func TestTimeApart(t *testing.T) {
	x := article(30, 1)
	th := DefaultThresholds()
	score := func(q, c int32) float32 {
		return Judge(compareTexts(Input{Body: x + article(6, 2), Published: q}, Input{Body: x, Published: c}), th).Score
	}
	near := score(19602, 19600)
	if unknown := score(0, 19600); unknown != near {
		t.Errorf("score %v two days apart, %v where one time is not known", near, unknown)
	}
	if far, back := score(19640, 19600), score(19600, 19640); far >= near || far != back {
		t.Errorf("score %v two days apart, %v and %v forty days", near, far, back)
	}
}

// TestTopicsPart: two pages of one form, and a copy under another headline.
func TestTopicsPart(t *testing.T) {
	page := func(name string) Input {
		form := "存储下列属性的值\n" + name + "\n适用于桌面版\n" + article(12, 3) + "\n另请参阅" + name + "的示例\n"
		return Input{Title: name + " 规范属性", Body: form}
	}
	a, b := page("pidtagassistant"), page("pidtagbirthday")
	c := compareTexts(b, a)
	if l := c.Layout.Topics; l.A == 0 || l.B == 0 || !l.Labels || l.WordsA != 1 || l.WordsB != 1 {
		t.Errorf("topics of two pages: %+v", l)
	}
	th := DefaultThresholds()
	if j := Judge(c, th); j.Kind == Duplicate {
		t.Errorf("two pages of one form: %+v", j)
	}
	copied := a
	copied.Title = "pidtagbirthday 常见问题"
	if j := Judge(compareTexts(copied, a), th); j.Kind != Duplicate {
		t.Errorf("a copy under another headline: %+v", j)
	}
}

func TestRounds(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"18405.38元", "1.8万元", true}, {"28338.65元", "2.8万元", true}, {"3.32%", "3.3%", true}, {"5507.9万吨", "5508万吨", true}, {"14.31%", "14.35%", false},
		{"24人", "23人", false}, {"1001人", "1000人", false}, {"107万元", "110万元", false}, {"404例", "410例", false}, {"0.31%", "0.3%", false}} {
		var a, b side
		a.read(&Input{Body: c.a})
		b.read(&Input{Body: c.b})
		x, y := a.appendFacts(nil, a.tokens), b.appendFacts(nil, b.tokens)
		if len(x) != 1 || len(y) != 1 || x[0].Equal(&y[0]) != c.want {
			t.Errorf("%s and %s: %+v, %+v", c.a, c.b, x, y)
		}
	}
}

func compareTexts(later, earlier Input) Comparison { return Align(later, earlier).Comparison }
