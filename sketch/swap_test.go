package sketch

import (
	"fmt"
	"strings"
	"testing"
)

// TestOtherDay: the same words with other figures are another day's bulletin,
// one slip of the pen is not, nor is a figure that is only written otherwise.
func TestOtherDay(t *testing.T) {
	bulletin := func(figures ...string) Input {
		var b strings.Builder
		for i, f := range figures {
			fmt.Fprintf(&b, "%s共计%s吨\n", clauses(4, 5*i), f)
		}
		return Input{Body: b.String()}
	}
	reworded := bulletin("31", "42", "53", "64")
	for i := range 12 { // a word in every clause of a text of its own
		r := []rune(clauses(1, 100+i))
		reworded.Body += string(r)
	}
	other := reworded
	for i := range 12 {
		r := []rune(clauses(1, 100+i))
		other.Body = strings.Replace(other.Body, string(r[5:7]), "换词", 1)
	}
	other.Body = strings.Replace(strings.Replace(other.Body, "31吨", "36吨", 1), "42吨", "47吨", 1)
	for _, c := range []struct {
		name           string
		q, c           Input
		replaced, gaps int
		other          bool
	}{
		{"equal", bulletin("31", "42", "53", "64"), bulletin("31", "42", "53", "64"), 0, 0, false},
		{"one of four", bulletin("31", "42", "53", "65"), bulletin("31", "42", "53", "64"), 1, 1, true},
		{"one of eight", bulletin("31", "42", "53", "64", "75", "86", "97", "18"), bulletin("31", "42", "53", "64", "75", "86", "97", "19"), 1, 1, false},
		{"two of eight", bulletin("31", "42", "53", "64", "75", "86", "99", "18"), bulletin("31", "42", "53", "64", "75", "86", "97", "19"), 2, 2, true},
		{"written otherwise", bulletin("3.1", "42%", "53", "1.7"), bulletin("31", "42", "53万", "7"), 0, 4, false},
		{"two, and words in twelve places", other, reworded, 2, 14, false},
	} {
		r := CompareTexts(c.q, c.c)
		if r.Layout.Replaced != c.replaced || r.Layout.Gaps != c.gaps {
			t.Errorf("%s: %d figures replaced in %d gaps, want %d in %d", c.name, r.Layout.Replaced, r.Layout.Gaps, c.replaced, c.gaps)
		}
		th := DefaultThresholds()
		if got := th.otherDay(&r); got != c.other {
			t.Errorf("%s: another day is %v", c.name, got)
		}
		if j := Judge(r, -1, th); c.other && j.Kind == Duplicate {
			t.Errorf("%s: %+v", c.name, j)
		}
	}
}

// TestRenamed: one name put for another all over a text makes another member of
// a series; a word put for another of the same meaning does not.
func TestRenamed(t *testing.T) {
	about := func(name, word string) Input {
		var b strings.Builder
		for i := range 6 {
			if i%2 == 0 {
				fmt.Fprintf(&b, "%s%s%s\n", clauses(2, 7*i), name, strings.TrimSpace(clauses(1, 7*i+3)))
			}
			if i > 3 {
				fmt.Fprintf(&b, "%s%s%s\n", clauses(2, 7*i+4), word, strings.TrimSpace(clauses(1, 7*i+6)))
			}
		}
		return Input{Body: b.String()}
	}
	th := DefaultThresholds()
	for _, c := range []struct {
		name              string
		q                 Input
		renamed, retitled int
		surely, maybe     bool
	}{
		{name: "another company", q: about("青禾股份", "市民"), renamed: 3, surely: true, maybe: true},
		{name: "another word below", q: about("云崖水务", "百姓")},
		{name: "a short name above", q: about("南屏水务", "市民"), retitled: 3, maybe: true},
		{name: "the same characters in another order", q: about("务水崖云", "市民")},
	} {
		r := CompareTexts(c.q, about("云崖水务", "市民"))
		surely, maybe := th.renamed(&r)
		if r.Layout.Renamed != c.renamed || r.Layout.Retitled != c.retitled || surely != c.surely || maybe != c.maybe {
			t.Errorf("%s: renamed %d, retitled %d, surely %v, maybe %v", c.name, r.Layout.Renamed, r.Layout.Retitled, surely, maybe)
		}
		if j := Judge(r, -1, th); (j.Kind == Duplicate) == c.maybe {
			t.Errorf("%s: %+v", c.name, j)
		}
	}
}

// TestSameBody: a headline put before a short body that had none leaves a copy,
// but a body of a few words says nothing.
func TestSameBody(t *testing.T) {
	th := DefaultThresholds()
	long, few := strings.TrimSpace(clauses(2, 0)), "详情见图"
	headline := strings.ReplaceAll(strings.TrimSpace(clauses(3, 50)), "\n", "")
	for _, c := range []struct {
		name string
		q, c Input
		want Kind
	}{
		{"a headline more", Input{Title: headline, Body: long}, Input{Body: long}, Duplicate},
		{"a headline less", Input{Body: long}, Input{Title: headline, Body: long}, Duplicate},
		{"a few words", Input{Title: headline, Body: few}, Input{Body: few}, Unrelated},
	} {
		if j := Judge(CompareTexts(c.q, c.c), -1, th); j.Kind != c.want {
			t.Errorf("%s: %+v", c.name, j)
		}
	}
	other := strings.ReplaceAll(strings.TrimSpace(clauses(3, 60)), "\n", "")
	if r := CompareTexts(Input{Title: headline, Body: long}, Input{Title: other, Body: long}); r.Layout.SameBody {
		t.Error("two headlines: the same body is taken for the same text")
	}
}

// TestSubject: a notice of few sentences about another official is another
// member of a series, though the name stands in it once; a byline is not what a
// text is about, and a word put for another is no subject.
func TestSubject(t *testing.T) {
	notice := func(byline, subject, rest string) Input {
		return Input{Body: byline + "据云崖市有关部门网站消息\n" + subject + "涉嫌严重违规\n目前正在接受调查\n有关情况将在查清以后向社会公布\n" + rest}
	}
	const one, other = "南屏县水务局原局长方守田", "青禾集团党委副书记林晓岚"
	long := strings.TrimSpace(clauses(20, 0))
	th := DefaultThresholds()
	for _, c := range []struct {
		name string
		q, c Input
		want bool
	}{
		{"another official", notice("", one, ""), notice("", other, ""), true},
		{"the same, the other way", notice("", other, ""), notice("", one, ""), true},
		{"the same official", notice("", one, ""), notice("", one, ""), false},
		{"another byline", notice("记者周远山通讯员陆一鸣报道\n", one, ""), notice("采写高明月实习生秦少游\n", one, ""), false},
		{"another word", notice("", one, ""), notice("", strings.Replace(one, "原局长", "前负责人", 1), ""), false},
		{"both named elsewhere", notice("", one, other), notice("", other, one), false},
		{"in a long text", notice("", one, long), notice("", other, long), false},
	} {
		r := CompareTexts(c.q, c.c)
		if got, _ := th.renamed(&r); got != c.want {
			t.Errorf("%s: another subject is %v, share %.2f", c.name, got, r.Layout.Subject)
		}
		if j := Judge(r, -1, th); c.want && j.Kind != Series {
			t.Errorf("%s: %+v", c.name, j)
		}
	}
}
