package diff

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"jianguo/compare/reason"
)

// form makes a simple normal form: letters and figures, and a line break for all else.
func form(text string) *reason.Original {
	x := &reason.Original{Text: text}
	var simple strings.Builder
	var at []int
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if unicode.IsDigit(r) || unicode.IsLetter(r) {
			simple.WriteString(text[i : i+size])
			for range size {
				at = append(at, i)
			}
		} else if r != ' ' {
			simple.WriteByte('\n')
			at = append(at, i)
		}
		i += size
	}
	x.Form = simple.String()
	x.Origin = func(i int) (int, int) {
		_, size := utf8.DecodeRuneInString(text[at[i]:])
		return at[i], at[i] + size
	}
	return x
}

// letters are the letters and digits of a text.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) || unicode.IsLetter(r) {
			return r
		}
		return -1
	}, text)
}

var texts = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"台", "风", "今", "晨", "登", "陆", "海", "的", "的", "，", "。", "\n", "18", "20", " ", "\xff", "全市转移群众", "天气晴朗适合出行游玩",
	}), 0, 60).Draw(t, "parts"), "")
})

func compared(a, b string) (*Result, []Row) {
	r := Compare(form(a), form(b))
	return r, r.Rows
}

func part(s string, spans []Span, keep func(Span) bool) string { return letters(text(s, spans, keep)) }

func text(text string, spans []Span, keep func(Span) bool) string {
	var s strings.Builder
	for _, p := range spans {
		if keep(p) {
			s.WriteString(text[p.Start:p.End])
		}
	}
	return s.String()
}

// shown is the text of those pieces.
func shown(pieces []Piece, keep func(Span) bool) string {
	var s strings.Builder
	for _, p := range pieces {
		if keep(p.Span) {
			s.WriteString(p.Text)
		}
	}
	return s.String()
}

func all(Span) bool { return true }

func same(p Span) bool { return p.Kind == Same }

func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		r, rows := compared(a, b)
		for _, side := range []struct {
			text  string
			spans []Span
		}{{a, r.A}, {b, r.B}} {
			at := 0
			for _, p := range side.spans {
				if p.Start != at || p.End <= p.Start || (p.Move != 0) != (p.Kind == Moved || p.Kind == Conflict) {
					t.Fatalf("span %+v does not follow %d", p, at)
				}
				at = p.End
			}
			if at != len(side.text) {
				t.Fatalf("the spans end at %d of %d", at, len(side.text))
			}
		}
		if x, y := part(a, r.A, same), part(b, r.B, same); x != y {
			t.Fatalf("what is the same is not:\n%s\n%s", x, y)
		}
		for n := 1; n <= r.Moves; n++ {
			moved := func(p Span) bool { return p.Move == n }
			if x, y := part(a, r.A, moved), part(b, r.B, moved); x != y || x == "" {
				t.Fatalf("move %d: %q is not %q", n, x, y)
			}
		}
		var left, right strings.Builder
		for _, row := range rows {
			left.WriteString(shown(row.A, all))
			right.WriteString(shown(row.B, all))
			if row.Same && letters(shown(row.A, same)) != letters(shown(row.B, same)) {
				t.Fatalf("a row that is the same is not: %+v", row)
			}
		}
		if left.String() != a || right.String() != b {
			t.Fatalf("the rows are not the texts: %q %q", left.String(), right.String())
		}
		if r.SharedA > 1 || r.SharedB > 1 || (r.SharedA > 0) != (r.SharedB > 0) || r.Partial {
			t.Fatalf("shared %v and %v, partial %v", r.SharedA, r.SharedB, r.Partial)
		}
	})
}

func TestEqualTextsAreCalm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := strings.ReplaceAll(texts.Draw(t, "a"), " ", "\u3000") // form joins two numbers over a plain space
		form := strings.NewReplacer("，", ",", "\u3000", "\u3000\u3000")
		r, rows := compared(a, form.Replace(a))
		for _, row := range rows {
			if !row.Same {
				t.Fatalf("row %+v", row)
			}
		}
		if r.SharedA != 1 && letters(a) != "" || r.Moves+r.Conflicts != 0 {
			t.Fatalf("%+v", r)
		}
	})
}

func TestWhatAReaderSees(t *testing.T) {
	const (
		first  = "台风今晨在海岬市登陆，全市转移群众18000人。\n"
		second = "气象台预计风力将在明天夜里逐渐减弱，请市民减少外出。\n"
		third  = "电力部门组织抢修队伍待命，停电用户正在恢复供电。\n"
	)
	t.Run("figure", func(t *testing.T) {
		b := strings.Replace(first, "18000", "23000", 1)
		r, _ := compared(first, b)
		if r.Conflicts != 1 || part(first, r.A, func(p Span) bool { return p.Kind == Conflict }) != "18000" {
			t.Fatalf("%+v", r)
		}
	})
	t.Run("moved paragraph", func(t *testing.T) {
		a, b := first+second+third, third+first+second
		r, rows := compared(a, b)
		if r.Moves != 1 || part(b, r.B, func(p Span) bool { return p.Kind == Moved }) != part(third, []Span{{0, len(third), Same, 0}}, same) {
			t.Fatalf("%+v", r)
		}
		if len(rows) != 3 || !rows[1].Same || rows[1].Characters() != 52 {
			t.Fatalf("want the move, what did not move, the move; got %+v", rows)
		}
	})
	t.Run("moved paragraph with another character", func(t *testing.T) {
		long := strings.Replace(third, "。", "，预计今晚七点以前全部恢复正常供应。", 1)
		moved := strings.Replace(long, "正在", "已经", 1)
		a, b := first+second+long, moved+first+second
		r, _ := compared(a, b)
		own := part(b, r.B, func(p Span) bool { return p.Kind == Only })
		if r.Moves != 2 || own != "已经" || part(a, r.A, func(p Span) bool { return p.Kind == Only }) != "正在" {
			t.Fatalf("%d moves, its own %q", r.Moves, own)
		}
	})
	t.Run("inserted paragraph", func(t *testing.T) {
		_, rows := compared(first+third, first+second+third)
		if len(rows) != 3 || !rows[0].Same || rows[1].Same || len(rows[1].A) != 0 || !rows[2].Same {
			t.Fatalf("want one row for the paragraph that is new; got %+v", rows)
		}
	})
	t.Run("unrelated", func(t *testing.T) {
		r, _ := compared(strings.Repeat("的", 1)+second, "我的猫今天没有吃东西而是一直趴在窗台上晒太阳还打起了呼噜在梦里。")
		if r.SharedA != 0 {
			t.Fatalf("stray matches: %+v", r)
		}
	})
}

func TestWorkIsBounded(t *testing.T) {
	a, b := strings.Repeat("的1", 50_000), strings.Repeat("的2", 50_000)
	if _, rows := compared(a, b); len(rows) == 0 {
		t.Fatal("no rows")
	}
}

func BenchmarkCompare(b *testing.B) {
	x := strings.Repeat("台风今晨在海岬市登陆，全市转移群众18000人，气象台预计风力将在明天夜里逐渐减弱，请市民减少外出。\n", 1)
	var left, right strings.Builder
	for i := range 60 {
		s := strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Han, r) {
				return 0x4e00 + (r*31+rune(i)*977)%2000
			}
			return r
		}, x)
		left.WriteString(s)
		if i%3 == 0 {
			s = strings.Replace(s, "18000", "20000", 1)
		}
		if i%7 != 0 {
			right.WriteString(s)
		}
	}
	s, u := left.String(), right.String()
	b.ReportMetric(float64(utf8.RuneCountInString(s)), "characters")
	for b.Loop() {
		Compare(form(s), form(u))
	}
}

// TestSameAmount: a figure that is written in another way conflicts with nothing.
func TestSameAmount(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"法院判决赔偿20000元，驳回其他请求", "法院判决赔偿2万元，驳回其他请求"}: 0,
		{"法院判决赔偿20000元，驳回其他请求", "法院判决赔偿3万元，驳回其他请求"}: 1,
		{"全年营收300000000元，同比持平", "全年营收3亿元，同比持平"}:     0,
		{"共20000元和15人，驳回其他请求", "共2万元和16人，驳回其他请求"}:   1,
		{"全年营收3亿元，同比持平", "全年营收3万元，同比持平"}:            1,
		{"全年营收3亿元，同比持平", "全年营收3元，同比持平"}:             1,
		{"全年营收3元，同比持平", "全年营收3万元，同比持平"}:             1,
	} {
		if r, _ := compared(pair[0], pair[1]); r.Conflicts != want {
			t.Errorf("%q: %d figures differ, want %d", pair, r.Conflicts, want)
		}
	}
}

// TestResidueIsAside: words that the normal form leaves out are page residue, on either side no difference.
func TestResidueIsAside(t *testing.T) {
	a := form("今天有雨明天有风。责任编辑张三")
	a.Form = strings.Replace(a.Form, "责任编辑张三", strings.Repeat("\n", len("责任编辑张三")), 1)
	r := Compare(a, form("今天有雨明天有风。"))
	if got := text(a.Text, r.A, func(p Span) bool { return p.Kind == Aside }); !strings.Contains(got, "责任编辑张三") {
		t.Errorf("aside is %q of %+v", got, r.A)
	}
	if rows := r.Rows; len(rows) != 1 || !rows[0].Same {
		t.Errorf("rows %+v", rows)
	}
}

// TestRowsBeginLines: what stands before the first word of a line is on its line.
func TestRowsBeginLines(t *testing.T) {
	a, b := "第一段说了三件事。\n“第二段是一句话。”\n第三段", "第一段说了四件事。\n“第二段是一句话。”\n第三段"
	_, rows := compared(a, b)
	if got := shown(rows[0].A, all); got != "第一段说了三件事。\n" {
		t.Errorf("the first row is %q", got)
	}
}
