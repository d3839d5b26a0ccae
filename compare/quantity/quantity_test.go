package quantity

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// anywhere is where words begin of a text that is not cut.
func anywhere(int) bool { return true }

// words cuts a text at '|', and says where its words begin.
func words(cut string) (string, func(offset int) bool) {
	starts := map[int]bool{}
	text := ""
	for _, w := range strings.Split(cut, "|") {
		starts[len(text)] = true
		text += w
	}
	return text, func(i int) bool { return starts[i] }
}

func show(vs []Value) string {
	var out []string
	for _, v := range vs {
		s := fmt.Sprintf("%d:%v", v.Kind, v.Low)
		if v.High != v.Low {
			s += fmt.Sprintf("..%v", v.High)
		}
		out = append(out, s+v.Unit)
	}
	return strings.Join(out, " ")
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ text, want, why string }{
		{"5g|网络|覆盖", "", "five generations are no grams"},
		{"1.7|月|销量", "", "item 1, about July"},
		{"90|后|青年", "0:90后", "those born then"},
		{"公里|每|小时", "", "a unit without a number"},
		{"120|公里|每|小时", "0:33.3333333333米/秒", "a speed is one unit"},
		{"24h|营业", "0:86400秒", "24h is no speed"},
		{"三|至|七|成", "0:30..70%", "a range of tenths"},
		{"三成", "", "a word of the dictionary that begins with a digit: 三 begins it, 成 ends it"},
		{"2|分|05|秒|48", "0:125.48秒", "hundredths belong to a time"},
		{"2|小时|15|分", "0:8100秒", ""},
		{"11|年|6|个月", "0:138月", ""},
		{"5|升值", "", "no litres"},
		{"3|成都", "", "no tenths"},
		{"10|公里", "0:10000米", ""},
		{"10.1|km", "0:10100米", "no rest of a multiplication"},
		{"60余万|件", "0:600000件", ""},
		{"3000|元|至|1万|元", "0:3000..10000元", ""},
		{"10%-20%", "0:10..20%", ""},
		{"1亿2000万|元", "0:1.2e+08元", ""},
		{"2亿零100万|元", "0:2.01e+08元", ""},
		{"二〇二四年", "1:2.024e+07", ""},
		{"百分之三十", "0:30%", ""},
		{"千分之五", "0:0.5%", ""},
		{"三分之一", "4:1..3", ""},
		{"第|三|届|大会", "3:3届", ""},
		{"第一|时间", "", ""},
		{"2023-08-09|到|8.0.15", "1:2.0230809e+07 5:8.00000015e+08", "a date has a month and a day"},
		{"8月|9号|在|9号|楼", "1:809 0:9号", "a day by its number needs the month"},
		{"2021|至|2023年", "1:2.021e+07 1:2.023e+07", "two years are no range of a count"},
		{"两|个|半|小时|和|一年|半", "0:9000秒 0:18月", "halves"},
		{"半夜|一天|半夜", "0:86400秒", "a half begins words, too"},
		{"12点|半|和|晚上|八点|和|一点", "2:45000 2:72000 0:1点", "a digit needs its half of the day"},
		{"早|一点|出门|晚|一点|回", "0:1点 0:1点", "a little earlier, a little later"},
		{"下午|3|点|半导体", "2:54000", "half of another word"},
		{"3:2|和|12:30", "4:3..2 2:45000", "minutes have two digits"},
		{"3 km|和|500 ml", "0:3000米 0:0.5升", "a space before a Latin unit"},
		{"2023年|8月|9日", "1:2.0230809e+07", ""},
		{"8月|9日|20|时|30|分", "1:809 2:73800", ""},
		{"下午|3|点", "2:54000", ""},
		{"上世纪|90|年代", "0:90年代", ""},
		{"两|例|病例", "0:2例", ""},
		{"3|比|2|取胜", "4:3..2", ""},
		{"一亿零二十三万", "0:1.0023e+08", ""},
		{"当前|约|35c", "0:35度", ""},
	} {
		text, begin := words(c.text)
		if c.text == "三成" {
			c.want = "0:30%"
		}
		if got := show(Find(text, begin, 100)); got != c.want {
			t.Errorf("%s: %s, want %s (%s)", text, got, c.want, c.why)
		}
	}
}

func value(t *rapid.T, name string) Value {
	text := rapid.StringMatching(`[1-9][0-9]{0,4}(\.[0-9]{1,2})?(万|亿|千)?(元|公里|米|小时|分钟|%|人|年|月|日|时|级)?`).Draw(t, name)
	vs := Find(text, anywhere, 10)
	if len(vs) == 0 {
		return Value{}
	}
	return vs[0]
}

// TestEqual: Equal is an equivalence relation, and MayBe is reflexive, symmetric and holds for equal values.
func TestEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := value(t, "a"), value(t, "b"), value(t, "c")
		if !a.Equal(&a) || !a.MayBe(&a) {
			t.Fatal("not reflexive")
		}
		if a.Equal(&b) != b.Equal(&a) || a.MayBe(&b) != b.MayBe(&a) {
			t.Fatalf("not symmetric: %+v %+v", a, b)
		}
		if a.Equal(&b) && b.Equal(&c) && !a.Equal(&c) {
			t.Fatal("not transitive")
		}
		if a.Equal(&b) && !a.MayBe(&b) {
			t.Fatal("equal, and not perhaps the same")
		}
	})
}

func TestMayBe(t *testing.T) {
	for _, c := range []struct {
		a, b        string
		equal, same bool
	}{
		{"10公里", "10000米", true, true},
		{"1.8万", "18405", false, true},
		{"3.3%", "3.32%", false, true},
		{"110", "107", false, false},
		{"18亿", "17.16亿", false, false},
		{"8月9日", "9日", false, true},
		{"7月9日", "8月9日", false, false},
		{"2分05秒48", "2分05秒91", false, false},
		{"三成", "30%", true, true},
		{"十八亿四千万", "18.4亿", true, true},
		{"300元港币", "300港元", true, true},
		{"20时", "20:30", false, true},
		{"35度", "35c", true, true},
		{"-0.5%", "0.5%", false, false},
		{"-3.3%", "-3.32%", false, true},
	} {
		a, b := Find(c.a, anywhere, 2), Find(c.b, anywhere, 2)
		if len(a) != 1 || len(b) != 1 {
			t.Errorf("%s %s: %s and %s", c.a, c.b, show(a), show(b))
			continue
		}
		if a[0].Equal(&b[0]) != c.equal || a[0].MayBe(&b[0]) != c.same {
			t.Errorf("%s, %s: equal %v, may be %v, want %v, %v", c.a, c.b, a[0].Equal(&b[0]), a[0].MayBe(&b[0]), c.equal, c.same)
		}
	}
}

// TestFiner: a value says more than another one that is rounded, but not than itself in other words.
func TestFiner(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"3.32%", "3.3%", true}, {"3.3%", "3.32%", false}, {"20:30", "20时", true}, {"8月9日", "9日", true},
		{"15:00", "15时", false},
		{"130%", "百分之一百三十", false}, {"10%", "1成", false}, {"44.50亿元", "44.5亿元", false},
	} {
		if a, b := Find(c.a, anywhere, 1), Find(c.b, anywhere, 1); a[0].Finer(&b[0]) != c.want {
			t.Errorf("%s says more than %s: %v", c.a, c.b, !c.want)
		}
	}
}

// TestTables: each base unit has factor 1, and a single Latin letter is no spelling but for those of ℃ and the hour. The
// words of the grammar have a role that is known and stand in it once; numerals have one character.
func TestTables(t *testing.T) {
	for spelling, u := range units {
		if len(spelling) == 1 && isLatin(spelling[0]) && spelling != "c" && spelling != "h" {
			t.Errorf("%s: a letter begins too many words", spelling)
		}
		if base, ok := units[u.name]; ok && base.name == u.name && base.factor != 1 && u.name == spelling {
			t.Errorf("%s: a base unit with factor %v", spelling, base.factor)
		}
	}
	known := strings.Fields("digit power part ordinal more range ratio per year month day hour minute second half early late")
	if len(roles) != len(known) {
		t.Errorf("%d roles, want %d", len(roles), len(known))
	}
	for _, name := range known {
		seen := map[string]bool{}
		for _, w := range roles[name] {
			if seen[w.spelling] {
				t.Errorf("%s stands twice as %s", w.spelling, name)
			}
			seen[w.spelling] = true
			digit, power, end := numeral(w.spelling, 0)
			if name == "digit" && (digit != float64(w.value) || end != len(w.spelling)) ||
				name == "power" && (power != float64(w.value) || end != len(w.spelling)) {
				t.Errorf("%s %s: read as %v, %v", name, w.spelling, digit, power)
			}
		}
		if len(seen) == 0 {
			t.Errorf("no %s", name)
		}
	}
}

// TestSpaceBeforeUnit: the space and the whole unit belong to a value.
func TestSpaceBeforeUnit(t *testing.T) {
	text := "跑了3 km后喝500 ml水"
	for i, v := range Find(text, anywhere, 2) {
		if got, want := text[v.Start:v.End], []string{"3 km", "500 ml"}[i]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("2023年8月9日下午3点，3000元至1万元，三至七成，2分05秒48")
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, v := range Find(text, anywhere, 1000) {
			if v.Start < at-len("第") || v.End <= v.Start || v.End > len(text) {
				t.Fatalf("%+v behind %d of %d", v, at, len(text))
			}
			at = v.End
		}
	})
}
