package quantity

import (
	"math"
	"strings"
	"unicode/utf8"
)

// finder finds the values of one text.
type finder struct {
	text  string
	begin func(offset int) bool // whether a word does at an offset
	out   []Value
}

// Find returns the quantities of a normal form, in order, at most so many. Clauses are separated by '\n'. begin says
// where words begin.
func Find(text string, begin func(offset int) bool, most int) []Value {
	f := finder{text: text, begin: begin}
	for i := 0; i < len(text) && len(f.out) < most; {
		digit, power, end := numeral(text, i)
		if end > i+1 && digit < 0 && power == 0 { // most characters
			i = end
			continue
		}
		v, end := f.at(i)
		if v.Kind != none {
			if v.Start, v.End = i-f.signs(i), end; Negative(text, i) {
				v.Low, v.High = -v.High, -v.Low
			}
			f.out = append(f.out, v)
		}
		i = end
	}
	return f.out
}

// none is the kind of what is no quantity: the number of a list item, part of a name.
const none Kind = 255

// next is the offset behind the character, or the whole Latin word, at i.
func (f *finder) next(i int) int {
	if isLatin(f.text[i]) {
		return len(f.text) - len(strings.TrimLeft(f.text[i:], "abcdefghijklmnopqrstuvwxyz0123456789"))
	}
	_, size := utf8.DecodeRuneInString(f.text[i:])
	return i + size
}

func isLatin(c byte) bool { return c-'a' < 26 }

// signs is the length of the minus or ordinal before a number, which is shown with it.
func (f *finder) signs(i int) int {
	if Negative(f.text, i) {
		return 1
	}
	return ordinals.before(f.text, i)
}

// Negative reports whether the number at an offset of a normal form has a minus, and no other number before it.
func Negative(text string, i int) bool {
	return i > 0 && text[i-1] == '-' && (i == 1 || text[i-2] == '\n')
}

// readers read what may begin with a number, and return its offset where theirs does not. A single Chinese digit begins
// no date, and a time only behind its half of the day: 一点 is a little.
var readers = [...]func(f *finder, i int, n Number) (v Value, end int){(*finder).dotted, (*finder).clock,
	(*finder).date, (*finder).hour, (*finder).ordinal, (*finder).count}

const digitReaders = 4

// at reads the quantity at i, and what is behind it; of kind none where nothing begins.
func (f *finder) at(i int) (v Value, end int) {
	if v, end = f.fraction(i); end > i {
		return v, end
	}
	n, ok := f.numberAt(i)
	if !ok || n.Han && !f.begin(i) && !f.behindOrdinal(i) { // within a word
		return Value{Kind: none}, f.next(i)
	}
	from := 0
	if n.digit {
		from = digitReaders
		if n.Value > 1 && earlies.before(f.text, i)+lates.before(f.text, i) > 0 { // 晚上八点, but not 晚一点
			from--
		}
	}
	for _, read := range readers[from:] {
		if v, end = read(f, i, n); end > i {
			break
		}
	}
	return v, end
}

func (f *finder) behindOrdinal(i int) bool { return ordinals.before(f.text, i) > 0 }

// count reads a number with its unit, its other parts, and the range that it begins: 三至七成. Weak is 一次.
func (f *finder) count(i int, n Number) (Value, int) {
	if _, end := mores.at(f.text, n.End); end > n.End { // 60余万件, 3000多人
		m := n
		m.End = end
		m = m.times(f.text)
		if _, size := f.unit(m.End); size > 0 || m.End > end {
			n = m
		}
	}
	if half, end := halves.at(f.text, n.End); half.value == 1 {
		if _, size := f.unit(end); size > 0 { // 两个半小时
			n.Value, n.Place, n.End, n.digit = n.Value+.5, .5, end, false
		}
	}
	u, size := f.unit(n.End)
	if x, after, ok := f.joined(n, u, size); ok && (x.Kind == Count || !n.digit) {
		return x, after
	}
	if size == 0 {
		return f.bare(i, n)
	}
	v := Value{Low: n.Value, High: n.Value, Precision: n.Place, Weak: n.digit && (!u.single || n.Value == 1)}
	end := n.End + size
	if half, after := halves.at(f.text, end); after > end && half.value == 0 && f.ends(after) { // 一年半
		v = Value{Low: n.Value + .5, High: n.Value + .5, Precision: .5}
		end = after
	}
	return f.parts(v.in(u), u, end)
}

// in converts a number to the base unit.
func (v Value) in(u unit) Value {
	v.Unit = u.name
	v.Low, v.High, v.Precision = rounded(v.Low*u.factor), rounded(v.High*u.factor), rounded(v.Precision*u.factor)
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
	score := minutes.before(f.text, end) > 0                                // points, unless seconds follow
	durable := (score || u.kind == "time" || u.kind == "months") && !v.Weak // 一天24小时 are no two days
	for durable && end < len(f.text) && isDigit(f.text[end]) {
		n := readPlain(f.text, end)
		of, size := f.unit(n.End)
		_, minute := minutes.at(f.text, n.End)
		_, second := seconds.at(f.text, n.End)
		switch {
		case score && second > n.End:
			u = unit{of.name, 60, of.kind, false}
			v = v.in(u)
		case u.factor > 60 && minute > n.End:
			of, size = unit{u.name, 60, u.kind, false}, minute-n.End
		case size == 0 && seconds.before(f.text, end) > 0: // hundredths
			of = unit{u.name, math.Pow10(end - n.End), u.kind, false}
		}
		if of.name != u.name || of.factor >= u.factor {
			break
		}
		v.Low, v.Precision, end = rounded(v.Low+n.Value*of.factor), of.factor, n.End+size
		v.High, u, score = v.Low, of, false
	}
	return v, end
}

// joined reads the range or pair that a number and the unit behind it, of some bytes, begin: 3000元至1万元, 10%-20%,
// 三至七成, 3比2, 1/3.
func (f *finder) joined(n Number, first unit, size int) (v Value, end int, ok bool) {
	if _, at := ratios.at(f.text, n.End); at > n.End && size == 0 {
		if m, ok := f.numberAt(at); ok {
			return Value{Kind: Pair, Low: n.Value, High: m.Value}, m.End, true
		}
	}
	join, at := ranges.at(f.text, n.End+size)
	m, ok := f.numberAt(at)
	if join.spelling == "" || !ok {
		return v, 0, false
	}
	second, more := f.unit(m.End)
	switch {
	case more == 0 && (size > 0 || join.value == 0), size > 0 && first.name != second.name:
		return v, 0, false
	case more == 0:
		return Value{Kind: Pair, Low: n.Value, High: m.Value}, m.End, true
	case size == 0:
		first = second
	}
	v = Value{Low: m.Value, Precision: m.Place}.in(second)
	v.High, v.Low = v.Low, Value{Low: n.Value}.in(first).Low
	return v, m.End + more, true
}

// numberAt is ReadNumber, and a single Chinese digit.
func (f *finder) numberAt(i int) (Number, bool) {
	if i >= len(f.text) {
		return Number{}, false
	}
	if n, ok := ReadNumber(f.text, i); ok {
		return n, true
	}
	digit, _, end := numeral(f.text, i)
	return Number{Value: digit, Place: 1, End: end, Han: true, digit: true}, digit > 0
}

// bareDigits is the length of the shortest number without a unit that is a quantity: shorter ones number paragraphs
// and belong to names.
const bareDigits = 3

// bare reads a number without a unit.
func (f *finder) bare(i int, n Number) (Value, int) {
	latin := n.End < len(f.text) && isLatin(f.text[n.End]) || i > 0 && isLatin(f.text[i-1])
	few := n.End-i < bareDigits && n.Value == math.Trunc(n.Value)
	if latin || n.Value < 1e4 && (n.Han || few) {
		return Value{Kind: none}, n.End
	}
	return Value{Low: n.Value, High: n.Value, Precision: n.Place}, n.End
}

// fraction reads 三分之一, and 百分之三十 as a share.
func (f *finder) fraction(i int) (v Value, end int) {
	digit, power, end := numeral(f.text, i)
	below := max(digit, power)
	_, at := parts.at(f.text, end)
	n, ok := f.numberAt(at)
	if !ok || at == end || below < 2 {
		return v, i
	}
	if power >= 100 {
		return Value{Low: n.Value, High: n.Value, Precision: n.Place}.in(unit{name: "%", factor: 100 / power}), n.End
	}
	return Value{Kind: Pair, Low: n.Value, High: below}, n.End
}

// ordinal reads what follows an ordinal, with its unit; 第一 alone says nothing.
func (f *finder) ordinal(i int, n Number) (Value, int) {
	if !f.behindOrdinal(i) {
		return Value{}, i
	}
	u, size := f.unit(n.End)
	if size == 0 {
		return Value{Kind: none}, n.End
	}
	return Value{Kind: Ordinal, Low: n.Value, High: n.Value, Unit: u.name}, n.End + size
}
