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
	for _, c := range []struct {
		name  string
		q, c  Input
		other bool
	}{
		{"equal", bulletin("31", "42", "53", "64"), bulletin("31", "42", "53", "64"), false},
		{"one of four", bulletin("31", "42", "53", "65"), bulletin("31", "42", "53", "64"), true},
		{"one of eight", bulletin("31", "42", "53", "64", "75", "86", "97", "18"), bulletin("31", "42", "53", "64", "75", "86", "97", "19"), false},
		{"two of eight", bulletin("31", "42", "53", "64", "75", "86", "99", "18"), bulletin("31", "42", "53", "64", "75", "86", "97", "19"), true},
	} {
		r := compareTexts(c.q, c.c)
		th := DefaultThresholds()
		if got := th.Vetoed(&r); (got != "") != c.other {
			t.Errorf("%s: vetoed %q, %+v", c.name, got, r.Facts)
		}
		if j := Judge(r, th); c.other && j.Kind == Duplicate {
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
		name string
		q    Input
		want int
	}{
		{"another person", about("林丽", "市民"), 3},
		{"a person not named", about("周某", "市民"), 0},
		{"another word", about("周扬", "百姓"), 0},
	} {
		r := compareTexts(c.q, about("周扬", "市民"))
		if r.Facts.Renamed != c.want {
			t.Errorf("%s: renamed %d", c.name, r.Facts.Renamed)
		}
		if j := Judge(r, th); (j.Kind == Duplicate) == (c.want > 0) {
			t.Errorf("%s: %+v", c.name, j)
		}
	}
}

// TestSlotOfName: in an equal frame, what stands before 市 is a name, though no dictionary has it.
func TestSlotOfName(t *testing.T) {
	notice := func(city string) Input {
		return Input{Body: city + "市教育局宣布\n受台风影响\n6月9日下午全市中小学停课"}
	}
	th := DefaultThresholds()
	for city, want := range map[string]Kind{"海岬": Duplicate, "青禾": Series} {
		if j := Judge(compareTexts(notice(city), notice("海岬")), th); j.Kind != want && (want == Duplicate || j.Kind == Duplicate) {
			t.Errorf("%s: %+v", city, j)
		}
	}
}

// TestNamesAreWhole: a conflict shows the names that stand in a slot, not what a dictionary knows of them.
func TestNamesAreWhole(t *testing.T) {
	const form = "据纪检部门网站消息\n%s\n严重违纪违法问题进行了立案审查调查"
	for _, c := range []struct {
		later, earlier string
		names          []string // of the dictionary
		want           string
	}{
		{"经批准对易鹏飞", "经批准对焦小平", []string{"鹏飞", "小平"}, "易鹏飞/焦小平"},
		{"对原副市长孙立明", "对原副市长陈华东", []string{"孙立", "陈华"}, "孙立明/陈华东"},
		{"会议在台东举行", "会议在枋寮举行", []string{"台东", "枋寮"}, "台东/枋寮"},
		{"证券代码浙江自然", "证券代码越秀资本", []string{"浙江", "越秀"}, "浙江自然/越秀资本"},
		{"显示东营银行信贷员", "显示泰安银行信贷员", []string{"东营", "泰安"}, "东营银行/泰安银行"},
		{"显示中信银行股份有限公司", "显示延安农村商业银行股份有限公司", []string{"中信银行", "延安"}, "中信银行/延安农村商业银行"},
		{"根据中央气象台预报", "根据福建省气象台预报", []string{"中央气象台", "福建省"}, "中央气象台/福建省气象台"},
		{"开门迎客\n枫湾市图书馆", "开放\n云崖市图书馆", []string{"迎客", "枫湾", "云崖"}, "枫湾市/云崖市"},
		{"近日神思电子区间涨幅", "近日三夫户外区间涨幅", []string{"神思电子", "三夫户外"}, "神思电子/三夫户外"},
	} {
		text := func(slot string) Input { return Input{Body: fmt.Sprintf(form, slot), Names: c.names} }
		var got []string
		x := Align(text(c.later), text(c.earlier))
		for _, p := range x.Pairs {
			got = append(got, x.Later.Text[p.Later.Start:p.Later.End]+"/"+x.Earlier.Text[p.Earlier.Start:p.Earlier.End])
		}
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%q, want %q", got, c.want)
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
		if j := Judge(compareTexts(c.q, c.c), th); j.Kind != c.want {
			t.Errorf("%s: %+v", c.name, j)
		}
	}
	other := strings.ReplaceAll(strings.TrimSpace(clauses(3, 60)), "\n", "")
	if r := compareTexts(Input{Title: headline, Body: long}, Input{Title: other, Body: long}); r.Layout.SameBody {
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
		r := compareTexts(c.q, c.c)
		if got := th.renamed(&r); got != c.want {
			t.Errorf("%s: another subject is %v, share %.2f", c.name, got, r.Layout.Subject)
		}
		if j := Judge(r, th); c.want && j.Kind != Series {
			t.Errorf("%s: %+v", c.name, j)
		}
	}
}

// TestHeading: two short notices of one form whose headlines begin with different names are about
// two companies; a word for the kind of message is no name if the other text has it, too.
func TestHeading(t *testing.T) {
	notice := func(title, name string) Input {
		return Input{Title: title, Body: name + clauses(12, 3)}
	}
	for _, c := range []struct {
		name  string
		q, c  Input
		other bool
	}{
		{"two companies", notice("青禾电源\n拟在港上市", "青禾电源"), notice("云崖股份\n拟在港上市", "云崖股份"), true},
		{"one company", notice("青禾电源\n拟在港上市", "青禾电源"), notice("青禾电源\n拟到港上市", "青禾电源"), false},
		{"a word before the name", notice("快讯\n青禾电源拟在港上市", "青禾电源"), notice("青禾电源\n拟在港上市", "青禾电源"), false},
		{"no clause of its own", notice("青禾电源拟在港上市", "青禾电源"), notice("云崖股份拟在港上市", "青禾电源"), false},
	} {
		r := compareTexts(c.q, c.c)
		th := DefaultThresholds()
		if got := th.Vetoed(&r); (got == "another name at the same place") != c.other || r.Layout.Heading != c.other {
			t.Errorf("%s: vetoed %q, %+v", c.name, got, r.Layout)
		}
	}
}

// TestFlash: a flash that repeats nearly word for word some days later is another one; a longer text
// is a copy whenever it comes.
func TestFlash(t *testing.T) {
	for _, c := range []struct {
		name    string
		clauses int
		days    int32
		other   bool
	}{{"the same day", 4, 0, false}, {"two days later", 4, 2, false}, {"a week later", 4, 7, true}, {"a long text", 40, 7, false}} {
		earlier := Input{Body: clauses(c.clauses, 0), Published: 20_000}
		later := Input{Body: clauses(c.clauses, 0) + "此外", Published: 20_000 + c.days}
		r := compareTexts(later, earlier)
		th := DefaultThresholds()
		if got := th.Vetoed(&r); (got == "a flash of another day") != c.other {
			t.Errorf("%s: vetoed %q of %d tokens, %d days", c.name, got, r.TokensA, r.Days)
		}
	}
}
