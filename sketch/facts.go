package sketch

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// FactKind is what a Fact is.
type FactKind uint8

// The kinds of facts, the loudest first.
const (
	FactFigure FactKind = iota // a number with its unit, a percentage, a code, a score
	FactTime                   // a date, a time, or both
	FactName                   // a person, company, place or body
)

// Fact is a fact of a text: Text[Start:End].
type Fact struct {
	Kind       FactKind
	Start, End int

	value float64
	place float64 // value of the last digit that is written: 1000 of 1.8万
	unit  string
	time  [5]int // year, month, day, hour, minute; -1: not said
	since int    // of hours, the first one and 1: 17 of 16-17时
	from  int    // first token
}

// FactPair relates a fact to the other text. Both facts are there if they are equal or in conflict, at one
// place of the alignment; else the other text has no such fact.
type FactPair struct {
	Later, Earlier *Fact
	Conflict       bool
}

func isLatin(s string) bool { return s[0]-'a' < 26 || isDigit(s[0]) }

// factMost bounds the facts of a text that are compared: more of them are a table.
const factMost = 1000

// appendFacts appends the first figures and times of a text. The codes in addresses of pages are none.
func (s *side) appendFacts(out []Fact, tokens []token) []Fact {
	for i := 0; i < len(tokens) && len(out) < factMost; {
		if t := &tokens[i]; !t.kind.isNumber() { // nearly all tokens begin no fact
			if r, _ := utf8.DecodeRuneInString(s.text[t.start:]); hanDigit(r) < 2 {
				i++
				continue
			}
		}
		f, n := s.factAt(tokens, i)
		if n == 0 || s.inAddress(int(tokens[i].start)) || s.converted(int(tokens[i].start)) {
			i++
			continue
		}
		f.from, f.Start = i, int(tokens[i].start)
		i += n
		if before, ok := strings.CutSuffix(s.text[:f.Start], "-"); ok && (before == "" || strings.HasSuffix(before, "\n")) {
			f.Start-- // shown, but -0.16% may be 下降0.16% in other words
		}
		if f.unit == "" && f.Kind == FactFigure {
			f.Start -= s.lettersBefore(f.Start, f.End-f.Start)
		}
		if strings.HasSuffix(s.text[:f.Start], "第") {
			if f.value == 1 || f.unit == "" {
				continue // 第一时间, 第一: words more often than facts
			}
			f.Start -= len("第")
		}
		out = append(out, f)
	}
	return out
}

// lettersBefore is the length of the Latin word before the number of a code, with what stands between: shr-4685, visionos 2.4. A word of a
// sentence is none.
func (s *side) lettersBefore(at, digits int) int {
	before := strings.TrimRight(s.text[:at], "\n ")
	rest := strings.TrimRight(before, "abcdefghijklmnopqrstuvwxyz")
	if n := len(before) - len(rest); n == 0 || n == 1 && digits > 3 || len(before) < at-1 || strings.HasSuffix(rest, " ") {
		return 0
	}
	return at - len(rest)
}

// converted reports whether the figure at an offset says the one before it again, in other money or another unit.
func (s *side) converted(at int) bool {
	before := strings.TrimSuffix(s.text[:at], "人民币")
	return strings.HasSuffix(before, "约合") || strings.HasSuffix(before, "折合") || strings.HasSuffix(before, "当前约")
}

// addressMost bounds the address of a page, in bytes.
const addressMost = 256

// inAddress reports whether what stands at an offset belongs to the address of a page: since http there was no Han
// character.
func (s *side) inAddress(at int) bool {
	before := s.text[max(0, at-addressMost):at]
	return strings.Contains(before[strings.LastIndexFunc(before, func(r rune) bool { return r >= utf8.RuneSelf })+1:], "http")
}

// factAt reads the fact that begins with a token, and returns its length in tokens, 0 for none.
func (s *side) factAt(tokens []token, i int) (Fact, int) {
	t := tokens[i]
	if !t.kind.isNumber() {
		return s.digitAt(tokens, i)
	}
	if f, n := s.dottedAt(tokens, i); n > 0 || strings.HasSuffix(s.text[:t.start], ".") {
		return f, n
	}
	text, x := s.text[t.start:t.end], readToken(s.text, int(t.start))
	whole := x.value == math.Trunc(x.value)
	if (t.kind == month || t.kind == day) && !whole {
		return Fact{}, 0 // 1.7月 is item 1, about July
	}
	if t.kind == clock && strings.LastIndexByte(text, ':') == 2 && len(text) > len("98:102") { // 19:30965路 is a time and a line
		v := int(readToken(text[:len("19:30")], 0).value)
		return Fact{Kind: FactTime, End: int(t.start) + len("19:30"), time: [5]int{-1, -1, -1, v / 1e4, v % 100}}, 1
	}
	if f, n := s.timeAt(tokens, i); n > 0 && !strings.HasSuffix(s.text[:t.start], "第") {
		return f, n
	}
	f := Fact{Kind: FactFigure, End: int(t.end), value: x.value, place: lastPlace(text, x.value)}
	n := s.joined(&f, tokens, i)
	if s.text[f.End-1] == '%' {
		f.unit = "%"
		return f, n
	}
	size, unit := s.measure(f.End)
	if rest := s.text[f.End:]; n == 1 && (strings.HasPrefix(rest, "余") || strings.HasPrefix(rest, "多")) {
		value, end := multiplier(s.text, f.End+len("余"), x.value) // 60余万件
		if size, unit = unitAt(s.text, end); size > 0 || value > x.value {
			f.End, f.place, f.value = end, f.place*value/x.value, value
		}
	}
	f.End += size
	if size > 0 && whole && strings.HasPrefix(s.text[f.End:], "半") && !strings.HasPrefix(s.text[f.End:], "半夜") {
		f.End, f.value, f.place = f.End+len("半"), f.value+.5, 0 // 2斤半
	}
	f.setUnit(unit)
	for i+n < len(tokens) && int(tokens[i+n].end) <= f.End {
		n++
	}
	if unit == "" && (!strings.ContainsAny(text, "0123456789") && f.value < 1e4 || strings.HasPrefix(s.text[f.End:], "型")) {
		return Fact{}, 0 // of a name: 十二东路, 党的二十大, mk-84型
	}
	if unit != "" && i+n < len(tokens) {
		n += s.part(&f, tokens[i+n])
	}
	// A small number without a unit numbers a paragraph or belongs to a name, as does a longer one between two marks.
	if unit == "" && n == 1 && t.kind == number && whole && (f.value < 10 || strings.HasSuffix(s.text[:t.start], "-") || len(text) <= 3 && t.clause && (i+1 == len(tokens) || tokens[i+1].clause)) {
		return Fact{}, 0
	}
	return f, n
}

// subunits are the units of a part behind a figure or a time, and how many of it are one: 2小时15分, 11年6个月.
var subunits = map[string]struct {
	unit string
	n    float64
}{"": {"秒", 60}, "分钟": {"秒", 60}, "小时": {"分", 60}, "年": {"个月", 12}}

// part adds to a figure the part behind it that a token is, with the hundredths of seconds: 2分05秒48. It returns its length in tokens.
func (s *side) part(f *Fact, t token) int {
	part, known := subunits[f.unit]
	behind, more := strings.CutPrefix(s.text[t.end:], part.unit)
	if !known || !more || t.kind != number || int(t.start) != f.End {
		return 0
	}
	hundredths := len(behind) - len(strings.TrimLeft(behind, "0123456789"))
	f.value, f.place, f.End = f.value+readToken(s.text, f.End).value/part.n, 0, int(t.end)+len(part.unit)+hundredths
	return 1 + utf8.RuneCountInString(part.unit) + min(hundredths, 1)
}

// joined adds to a figure the other parts of its number (1亿2000万, 2亿零100万), or the numbers that -, /, 比, 至 or 到 joins to it,
// and returns its length in tokens.
func (s *side) joined(f *Fact, tokens []token, i int) int {
	for k := i; ; {
		rest, joint := s.text[f.End:], 0
		size, unit := s.measure(f.End)
		joiner, n := utf8.DecodeRuneInString(rest)
		switch behind, m := utf8.DecodeRuneInString(rest[size:]); {
		case size > 0 && strings.ContainsRune("-至到", behind): // 3000元至1万元
			joiner, joint = '至', size+m
		case joiner == '到':
			joiner, joint = '至', n
		case strings.ContainsRune("-/比至零", joiner):
			joint = n
		}
		next := k + 1
		for next < len(tokens) && int(tokens[next].start) < f.End+joint {
			next++
		}
		if next >= len(tokens) || !tokens[next].kind.isNumber() || int(tokens[next].start) != f.End+joint {
			return k + 1 - i
		}
		x := readToken(s.text, int(tokens[next].start))
		switch _, u := s.measure(x.end); {
		case joiner == '至' && (x.kind != number && x.kind != percent || s.text[f.End-1] == '%' && x.kind != percent || joint > size && size > 0 && u != unit):
			return k + 1 - i
		case joint > 0 && joiner != '零':
			f.value, f.place = f.value*1e6+x.value+.5, 0 // a code, a fraction, a range, a score
		case x.kind == number && x.value < f.value && s.text[f.End-1] >= utf8.RuneSelf && s.text[x.end-1] >= utf8.RuneSelf:
			f.value, f.place = f.value+x.value, lastPlace(s.text[tokens[next].start:x.end], x.value)
		default:
			return k + 1 - i
		}
		f.End, k = x.end, next
	}
}

// digitAt reads a Chinese digit from 2 on before a unit: 两例, 三人.
func (s *side) digitAt(tokens []token, i int) (Fact, int) {
	t := tokens[i]
	if i+1 == len(tokens) || tokens[i+1].clause {
		return Fact{}, 0
	}
	if i > 0 && !t.clause {
		if p, _ := utf8.DecodeRuneInString(s.text[tokens[i-1].start:]); hanDigit(p) >= 0 || hanPower[p] > 0 || p == '第' || p == '周' || p == '星' || p == '期' {
			return Fact{}, 0
		}
	}
	size, unit := unitAt(s.text, int(t.end))
	if size == 0 || !slices.Contains(counted, s.text[t.end:int(t.end)+size]) {
		return Fact{}, 0
	}
	r, _ := utf8.DecodeRuneInString(s.text[t.start:])
	f := Fact{Kind: FactFigure, End: int(t.end) + size, value: hanDigit(r)}
	f.setUnit(unit)
	return f, 1 + utf8.RuneCountInString(s.text[t.end:int(t.end)+size])
}

const dottedMost = 32 // bytes

// dottedAt reads the number of a version, 8.0.15.32, or a date in figures: 2023-08-15, 2023.8.15. The time behind one is that of
// a page.
func (s *side) dottedAt(tokens []token, i int) (f Fact, n int) {
	start := int(tokens[i].start)
	rest := s.text[start:min(start+dottedMost, len(s.text))]
	run := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789.-/"))]
	var value [3]int
	if len(run) > 4 && !isDigit(run[4]) {
		if parts := strings.Split(run, run[4:5]); len(parts) == 3 {
			for k := range value {
				value[k], _ = strconv.Atoi(parts[k])
			}
		}
	}
	switch y, m, d := value[0], value[1], value[2]; {
	case y >= 1900 && y < 2100 && m > 0 && m <= 12 && d > 0 && d <= 31:
		f = Fact{Kind: FactTime, time: [5]int{y, m, d, -1, -1}}
	case strings.Count(run, ".") > 1 && len(run) < dottedMost && !strings.ContainsAny(run, "-/"):
		f = Fact{unit: "."}
		for part := range strings.SplitSeq(run, ".") {
			number, _ := strconv.Atoi(part)
			f.value = f.value*1e4 + float64(number)
		}
	default:
		return Fact{}, 0
	}
	f.End = start + len(run)
	n = 1
	for i+n < len(tokens) && (int(tokens[i+n].end) <= f.End || f.Kind == FactTime && tokens[i+n].kind == clock) {
		n++
	}
	return f, n
}

// periods of a year, behind it: each is a month above 12.
var periods = strings.Fields("一季度 二季度 三季度 四季度 上半年 下半年 全年 前三季度")

// partsOfDay stand between a date and an hour.
var partsOfDay = strings.Fields("上午 下午 凌晨 晚上 晚间 早上 中午 傍晚 清晨 深夜 夜间 晚 早")

var lateParts = strings.Fields("下午 晚 晚上 晚间 傍晚 夜间")

// timeAt reads a date, a time, or both: 2023年8月9日20时, 9日下午3点, 12:30.
func (s *side) timeAt(tokens []token, i int) (Fact, int) {
	f := Fact{Kind: FactTime, time: [5]int{-1, -1, -1, -1, -1}}
	n, field := 0, 0
	for i+n < len(tokens) && (n == 0 || !tokens[i+n].clause) {
		t := tokens[i+n]
		if !t.kind.isNumber() {
			part := slices.IndexFunc(partsOfDay, func(p string) bool { return strings.HasPrefix(s.text[t.start:], p) })
			if n == 0 || part < 0 || field > 3 {
				break
			}
			k := utf8.RuneCountInString(partsOfDay[part])
			if i+n+k >= len(tokens) || !tokens[i+n+k].kind.isNumber() || tokens[i+n+k].clause {
				break
			}
			n += k
			continue
		}
		if hours := i + n + 1; hours < len(tokens) && int(tokens[hours].start) == int(t.end)+1 && s.text[t.end] == '-' && t.kind == number && tokens[hours].kind == number {
			if at, _ := s.timeField(tokens[hours]); at == 3 {
				f.since = int(readToken(s.text, int(t.start)).value) + 1
				t, n = tokens[hours], n+1 // 0-24时 counts up to 24时
			}
		}
		at, value := s.timeField(t)
		if at < field {
			break
		}
		if t.kind == clock {
			f.time[3], f.time[4], f.End = value/100, value%100, int(t.end)
			n++
			break
		}
		f.time[at], field = value, at+1
		_, size := utf8.DecodeRuneInString(s.text[t.end:])
		f.End = int(t.end) + size
		n += 2
	}
	if field == 5 && i+n < len(tokens) {
		n += s.part(&f, tokens[i+n]) // a time is equal without them
	}
	if field == 1 {
		n += s.period(&f, tokens[i+n:])
	}
	return f, n
}

// period adds to a year the period behind it, and returns its length in tokens.
func (s *side) period(f *Fact, tokens []token) (n int) {
	rest := strings.TrimPrefix(s.text[f.End:], "第")
	k := slices.IndexFunc(periods, func(p string) bool { return strings.HasPrefix(rest, p) })
	if k < 0 {
		return 0
	}
	f.time[1], f.End = 13+k, len(s.text)-len(rest)+len(periods[k])
	for n < len(tokens) && int(tokens[n].end) <= f.End {
		n++
	}
	return n
}

// hour is that of a day of 24: 下午5时 is 17时.
func (s *side) hour(t token, hour int) int {
	if hour < 12 && slices.ContainsFunc(lateParts, func(p string) bool { return strings.HasSuffix(s.text[:t.start], p) }) {
		return hour + 12
	}
	return hour
}

// timeField is which field of a time a figure is, -1 for none: the character behind it says so.
func (s *side) timeField(t token) (field, value int) {
	value = int(readToken(s.text, int(t.start)).value)
	r, _ := utf8.DecodeRuneInString(s.text[t.end:])
	switch {
	case t.kind == year && !strings.HasPrefix(s.text[t.end:], "年代"):
		return 0, value
	case t.kind == month:
		return 1, value
	case t.kind == day && (r == '日' || strings.HasSuffix(s.text[:t.start], "月")):
		return 2, value
	case t.kind == clock && value/1e4 < 24 && s.text[t.start+1] == ':' || t.kind == clock && value/1e4 < 24 && s.text[t.start+2] == ':':
		return 3, s.hour(t, value/1e4)*100 + value%100
	case t.kind == number && r == '时' && value <= 24, t.kind == number && r == '点' && value <= 24 && !strings.HasPrefix(s.text[t.end:], "点评"):
		return 3, s.hour(t, value)
	case t.kind == number && r == '分' && value < 60 && !strings.HasPrefix(s.text[t.end:], "分钟"):
		if t.start > 3 && (strings.HasSuffix(s.text[:t.start], "时") || strings.HasSuffix(s.text[:t.start], "点")) {
			return 4, value
		}
	}
	return -1, value
}

// Equal reports whether two facts say the same. Of two dates, one may say less: 8月9日 and 9日.
func (f *Fact) Equal(o *Fact) bool {
	if f.Kind != o.Kind {
		return false
	}
	if f.Kind != FactTime {
		return (f.measures(o) || f.unit == "" || o.unit == "") && (f.value == o.value || f.rounds(o) || o.rounds(f))
	}
	said := false
	for i, a := range f.time {
		if b := o.time[i]; a >= 0 && b >= 0 {
			if a != b && (i != 3 || f.since != b+1 && o.since != a+1) {
				return false
			}
			said = true
		}
	}
	return said
}

// measures reports whether two figures have one unit, of which one text may leave out what is behind a slash.
func (f *Fact) measures(o *Fact) bool {
	return f.unit == o.unit || strings.HasPrefix(f.unit, o.unit+"/") || strings.HasPrefix(o.unit, f.unit+"/")
}

// Finer reports whether a time says an hour that an equal one does not say.
func (f *Fact) Finer(o *Fact) bool { return f.time[3] >= 0 && o.time[3] < 0 && f.Kind == FactTime }

// rounds reports whether o is f rounded or cut off: 1.8万 is 18,405, and 3.3% is 3.32%; but 110 is not 107, nor 18亿 17.16亿.
func (f *Fact) rounds(o *Fact) bool {
	d := f.value - o.value
	return f.place > 0 && o.place > f.place && o.value >= 10*o.place && (d >= 0 && d < o.place || math.Abs(d) <= o.place/2)
}

// comparable reports whether two facts that are not equal say different things of one matter.
func (f *Fact) comparable(o *Fact) bool {
	if f.Kind != o.Kind {
		return false
	}
	if f.Kind != FactTime {
		// 2022万达 and 2022恒大: 万 belongs to a name.
		scale := max(f.value, o.value) / min(f.value, o.value)
		return f.measures(o) && (f.unit+o.unit != "" || scale != 1e4 && scale != 1e8)
	}
	both := f.said() & o.said()
	return both > 0 && (both == f.said() || both == o.said()) // one may say more: 9日, 10日20时
}

// said is the set of the fields that a time has.
func (f *Fact) said() (fields int) {
	for i, v := range f.time {
		if v >= 0 {
			fields |= 1 << i
		}
	}
	return fields
}
