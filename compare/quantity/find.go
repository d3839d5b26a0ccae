package quantity

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Words says where the words of a text begin. A nil Words begins one everywhere.
type Words func(offset int) bool

// finder finds the values of one text.
type finder struct {
	text  string
	begin Words
	out   []Value
}

// Find returns the quantities of a normal form, in order, at most so many. Clauses are separated by '\n'. The
// addresses of pages have none.
func Find(text string, begin Words, most int) []Value {
	if begin == nil {
		begin = func(int) bool { return true }
	}
	f := finder{text: text, begin: begin}
	for i := 0; i < len(text) && len(f.out) < most; {
		if r, size := utf8.DecodeRuneInString(text[i:]); size > 1 && r != '百' && r != '十' && digitOf(r) < 0 {
			i += size // most characters
			continue
		}
		v, end := f.at(i)
		if end > i {
			if v.Kind != none {
				v.Start, v.End = i-f.signs(i), end
				f.out = append(f.out, v)
			}
			i = end
			continue
		}
		i = f.next(i)
	}
	return f.out
}

// none is the kind of what is no quantity: the number of a list item, part of a name.
const none Kind = 255

// next is the offset behind the character, or the whole Latin word, at i.
func (f *finder) next(i int) int {
	if f.text[i] >= utf8.RuneSelf {
		_, size := utf8.DecodeRuneInString(f.text[i:])
		return i + size
	}
	if address(f.text[i:]) { // it ends at the next Han character
		end := strings.IndexFunc(f.text[i:], func(r rune) bool { return r >= utf8.RuneSelf })
		if end < 0 {
			return len(f.text)
		}
		return i + end
	}
	if !isLatin(f.text[i]) {
		return i + 1
	}
	for i < len(f.text) && (isLatin(f.text[i]) || isDigit(f.text[i])) {
		i++
	}
	return i
}

func isLatin(c byte) bool { return c-'a' < 26 }

func address(s string) bool { return strings.HasPrefix(s, "http") || strings.HasPrefix(s, "www") }

// signs is the length of the minus or 第 before a number, which is shown with it.
func (f *finder) signs(i int) int {
	before := f.text[:i]
	if strings.HasSuffix(before, "第") {
		return len("第")
	}
	if rest, ok := strings.CutSuffix(before, "-"); ok && (rest == "" || strings.HasSuffix(rest, "\n")) {
		return 1
	}
	return 0
}

// at reads the quantity at i; end is i where nothing begins.
func (f *finder) at(i int) (v Value, end int) {
	if x, ok := f.fractionAt(i); ok {
		return x, x.End
	}
	n, ok := ReadNumber(f.text, i)
	if !ok {
		return f.digitAt(i)
	}
	if n.Han && !f.begin(i) && !f.behindOrdinal(i) {
		return v, i // 老三千里: within a word
	}
	if !n.Han {
		if v, end = f.dotted(i); end > i {
			return v, end
		}
		if v, end = f.clock(i); end > i {
			return v, end
		}
	}
	if v, end = f.date(i, n); end > i {
		return v, end
	}
	if v, end = f.hour(i, n); end > i {
		return v, end
	}
	if f.behindOrdinal(i) {
		return f.ordinal(n)
	}
	return f.count(i, n)
}

func (f *finder) behindOrdinal(i int) bool { return strings.HasSuffix(f.text[:i], "第") }

// count reads a number with its unit, its other parts, and the range that it begins.
func (f *finder) count(i int, n Number) (Value, int) {
	v := Value{Kind: Count, Low: n.Value, Precision: n.Place}
	end := n.End
	if rest := f.text[end:]; strings.HasPrefix(rest, "余") || strings.HasPrefix(rest, "多") { // 60余万件, 3000多人
		value, after := multiply(f.text, end+len("余"), n.Value)
		if _, size := f.unit(after); size > 0 || value > n.Value {
			v.Precision, v.Low, end = v.Precision*value/math.Max(n.Value, 1e-9), value, after
		}
	}
	u, size := f.unit(end)
	if x, after, ok := f.joined(v, n, end, u, size); ok {
		return x, after
	}
	if size == 0 {
		return f.bare(i, n, v, end)
	}
	unitEnd := end + size
	if strings.HasPrefix(f.text[unitEnd:], "半") && f.begin(unitEnd) && n.Value == math.Trunc(n.Value) { // 2斤半
		after := unitEnd + len("半")
		v.Low, v.Precision = v.Low+.5, 0
		if u.name == "个" { // 2个半小时
			if of, more := f.unit(after); more > 0 {
				u, after = of, after+more
			}
		}
		unitEnd = after
	}
	v.High = v.Low
	v = v.in(u)
	return f.parts(v, u, unitEnd)
}

// in converts a number to the base unit.
func (v Value) in(u unit) Value {
	v.Unit = u.name
	v.Low, v.High, v.Precision = rounded(v.Low*u.factor), rounded(v.High*u.factor), rounded(v.Precision*u.factor)
	if u.name == "年代" {
		v.Low = math.Mod(v.Low, 100) // 1990年代 is 上世纪90年代
		v.High = v.Low
	}
	return v
}

// rounded rounds to twelve digits, so that 10.1 times 1000 is 10100.
func rounded(v float64) float64 {
	if v == 0 {
		return 0
	}
	p := math.Pow10(11 - int(math.Floor(math.Log10(math.Abs(v)))))
	return math.Round(v*p) / p
}

// parts adds the smaller units behind a duration: 2小时15分, 2分05秒48, 11年6个月.
func (f *finder) parts(v Value, u unit, end int) (Value, int) {
	if u.name == "分" && end < len(f.text) && isDigit(f.text[end]) &&
		strings.HasPrefix(f.text[readPlain(f.text, end).End:], "秒") {
		u = units["分钟"] // not points
		v = v.in(u)
	}
	for u.kind == "time" || u.kind == "months" {
		if end == len(f.text) || !isDigit(f.text[end]) {
			break
		}
		n := readPlain(f.text, end)
		of, size := f.unit(n.End)
		if u.factor > 60 && of.name == "分" {
			of, size = units["分钟"], len("分")
		}
		if strings.HasSuffix(f.text[:end], "秒") && size == 0 { // hundredths
			fraction := n.Value / math.Pow10(n.End-end)
			v.Low, v.Precision, end = rounded(v.Low+fraction), math.Pow10(end-n.End), n.End
			v.High = v.Low
			break
		}
		if size == 0 || of.name != u.name || of.factor >= u.factor {
			break
		}
		v.Low, v.Precision, end = rounded(v.Low+n.Value*of.factor), of.factor, n.End+size
		v.High = v.Low
		u = of
	}
	return v, end
}

// joins stand between the two ends of a range. The normal form writes every dash as -.
var joins = []string{"-", "至", "到"}

// joined reads the range or pair that a number and the unit at its end, of some bytes, begin: 3000元至1万元, 10%-20%,
// 三至七成, 3比2, 1/3.
func (f *finder) joined(v Value, n Number, end int, first unit, size int) (Value, int, bool) {
	for _, ratio := range []string{"比", "/", ":"} {
		if rest, ok := strings.CutPrefix(f.text[end:], ratio); ok && size == 0 && rest != "" {
			at := len(f.text) - len(rest)
			if m, ok := f.numberAt(at); ok {
				return Value{Kind: Pair, Low: v.Low, High: m.Value}, m.End, true
			}
		}
	}
	for _, join := range joins {
		at := end + size
		if !strings.HasPrefix(f.text[at:], join) || at+len(join) == len(f.text) {
			continue
		}
		m, ok := f.numberAt(at + len(join))
		if !ok {
			continue
		}
		second, more := f.unit(m.End)
		switch {
		case more == 0 && size > 0, size > 0 && first.name != second.name:
			continue
		case more == 0 && join != "-":
			continue
		case more == 0:
			return Value{Kind: Pair, Low: v.Low, High: m.Value}, m.End, true
		case size == 0:
			first = second
			if m.Value > 0 && n.End == end && n.Place == 1 && n.Value < m.Value && m.Place >= 1e4 {
				first.factor *= m.Place // 3至5万元
			}
		}
		low, high := Value{Low: v.Low}.in(first), Value{Low: m.Value, High: m.Value, Precision: m.Place}.in(second)
		return Value{Kind: Count, Low: low.Low, High: high.High, Unit: high.Unit, Precision: high.Precision}, m.End +
			more, true
	}
	return v, end, false
}

// numberAt is ReadNumber, and a single Chinese digit.
func (f *finder) numberAt(i int) (Number, bool) {
	if i >= len(f.text) {
		return Number{}, false
	}
	if n, ok := ReadNumber(f.text, i); ok {
		return n, true
	}
	r, size := utf8.DecodeRuneInString(f.text[i:])
	d := digitOf(r)
	return Number{Value: d, Place: 1, End: i + size, Han: true}, d > 0
}

// bareDigits is the length of the shortest number without a unit that is a quantity: shorter ones number paragraphs
// and belong to names.
const bareDigits = 3

// bare reads a number without a unit.
func (f *finder) bare(i int, n Number, v Value, end int) (Value, int) {
	text := f.text[i:n.End]
	latin := end < len(f.text) && isLatin(f.text[end]) || i > 0 && isLatin(f.text[i-1])
	whole := n.Value == math.Trunc(n.Value)
	v.High = v.Low
	if n.Han && n.Value < 1e4 || latin || whole && len(text) < bareDigits && n.Value < 1e4 {
		v.Kind = none
	}
	return v, end
}

// digitAt reads a single Chinese digit before a unit (两例, 三天; weak is 一次), or one end of a range (三至七成).
func (f *finder) digitAt(i int) (Value, int) {
	if f.text[i] < utf8.RuneSelf || !f.begin(i) && !f.behindOrdinal(i) {
		return Value{}, i
	}
	r, size := utf8.DecodeRuneInString(f.text[i:])
	d := digitOf(r)
	if d < 1 {
		return Value{}, i
	}
	n := Number{Value: d, Place: 1, End: i + size, Han: true}
	if f.behindOrdinal(i) {
		return f.ordinal(n)
	}
	u, more := f.unit(n.End)
	if v, end, ok := f.joined(Value{Low: d, Precision: 1}, n, n.End, u, more); ok && v.Kind == Count {
		return v, end
	}
	if more > 0 {
		v := Value{Kind: Count, Low: d, High: d, Precision: 1, Weak: !u.single || d == 1}.in(u)
		return v, n.End + more
	}
	return Value{}, i
}

// fractionAt reads 百分之三十 and 三分之一.
func (f *finder) fractionAt(i int) (Value, bool) {
	rest, percent := strings.CutPrefix(f.text[i:], "百分之")
	if !percent {
		r, size := utf8.DecodeRuneInString(f.text[i:])
		below := digitOf(r)
		after, ok := strings.CutPrefix(f.text[i+size:], "分之")
		if !ok || below < 2 {
			return Value{}, false
		}
		above, ok := f.numberAt(len(f.text) - len(after))
		return Value{Kind: Pair, Low: above.Value, High: below, End: above.End}, ok
	}
	n, ok := f.numberAt(len(f.text) - len(rest))
	return Value{Kind: Count, Low: n.Value, High: n.Value, Unit: "%", Precision: n.Place, End: n.End}, ok
}

// ordinal reads what follows 第, with its unit; 第一 alone says nothing.
func (f *finder) ordinal(n Number) (Value, int) {
	u, size := f.unit(n.End)
	if size == 0 {
		return Value{Kind: none}, n.End
	}
	return Value{Kind: Ordinal, Low: n.Value, High: n.Value, Unit: u.name}, n.End + size
}
