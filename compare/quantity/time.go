package quantity

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parts of a year: their first and last month and day.
var parts = []struct {
	name      string
	low, high int
}{
	{"前三季度", 101, 930}, {"三季度", 701, 930}, {"一季度", 101, 331}, {"二季度", 401, 630}, {"四季度", 1001, 1231}, {"上半年", 101, 630},
	{"下半年", 701, 1231}, {"全年", 101, 1231},
}

// date reads a date, or a number of years as in 3年: 2023年8月9日, 8月, 9日, 2023年上半年.
func (f *finder) date(i int, n Number) (Value, int) {
	year, month, day := 0, 0, 0
	end := i
	if r, _ := utf8.DecodeRuneInString(f.text[n.End:]); n.Value != math.Trunc(n.Value) && (r == '月' || r == '日') {
		return Value{Kind: none}, n.End // 1.7月 is item 1, about July
	}
	take := func(spelling string, valid func(v float64) bool, into *int) {
		if n.End > end && valid(n.Value) && n.Value == math.Trunc(n.Value) &&
			strings.HasPrefix(f.text[n.End:], spelling) {
			*into, end = int(n.Value), n.End+len(spelling)
			n, _ = f.numberAt(end)
		}
	}
	within := func(most float64) func(float64) bool { return func(v float64) bool { return v >= 1 && v <= most } }
	if !strings.HasPrefix(f.text[min(n.End, len(f.text)):], "年代") {
		take("年", isYear, &year)
	}
	if year > 0 {
		if v, after, ok := f.partOfYear(year, end); ok {
			return v, after
		}
	}
	take("月", within(12), &month)
	if month > 0 && end < len(f.text) && year == 0 {
		end += len(f.text[end:]) - len(strings.TrimPrefix(f.text[end:], "份"))
	}
	if month > 0 || year == 0 && !f.behindOrdinal(i) {
		take("日", within(31), &day)
		if month > 0 && day == 0 {
			take("号", within(31), &day)
		}
	}
	if end == i {
		return Value{}, i
	}
	date := float64(year*10000 + month*100 + day)
	return Value{Kind: Date, Low: date, High: date}, end
}

// partOfYear reads a part of a year behind it.
func (f *finder) partOfYear(year, end int) (Value, int, bool) {
	rest := strings.TrimPrefix(f.text[end:], "第")
	for _, p := range parts {
		if after, ok := strings.CutPrefix(rest, p.name); ok {
			y := float64(year * 10000)
			return Value{Kind: Date, Low: y + float64(p.low), High: y + float64(p.high)}, len(f.text) - len(after), true
		}
	}
	return Value{}, end, false
}

// dottedMost is the length of the longest number of several parts, in bytes.
const dottedMost = 32

// dotted reads a date in figures (2023-08-15, 2023.8.15, 2023/8/15) or a number of three or more parts (8.0.15).
func (f *finder) dotted(i int) (Value, int) {
	rest := f.text[i:min(i+dottedMost, len(f.text))]
	run := strings.TrimRight(rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789.-/"))], ".-/")
	at := strings.IndexAny(run, ".-/")
	if at < 0 || strings.Count(run, run[at:at+1]) < 2 {
		return Value{}, i
	}
	parts := strings.Split(run, run[at:at+1])
	if len(parts) == 3 && len(parts[0]) == 4 {
		year, _ := strconv.Atoi(parts[0])
		month, err := strconv.Atoi(parts[1])
		day, err2 := strconv.Atoi(parts[2])
		if err == nil && err2 == nil && isYear(float64(year)) && month >= 1 && month <= 12 && day >= 1 && day <= 31 {
			date := float64(year*10000 + month*100 + day)
			return Value{Kind: Date, Low: date, High: date}, i + len(run)
		}
	}
	code := 0.
	for _, p := range parts {
		part, _ := strconv.ParseFloat(p, 64)
		code = math.Mod(code*1e4+part, 1<<52)
	}
	return Value{Kind: Code, Low: code, High: code}, i + len(run)
}

// clock reads a time of day in figures, 12:30 or 19:30:05; anything else with a colon is a ratio.
func (f *finder) clock(i int) (Value, int) {
	fields, end := [3]int{}, i
	k := 0
	for ; k < 3 && end < len(f.text); k++ {
		from := end
		for end < len(f.text) && isDigit(f.text[end]) {
			end++
		}
		if end-from > 2 && k > 0 {
			end = from + 2 // 19:30965路: a time and a number
		}
		fields[k], _ = strconv.Atoi(f.text[from:end])
		if end+1 >= len(f.text) || f.text[end] != ':' || !isDigit(f.text[end+1]) || k == 2 {
			k++
			break
		}
		end++
	}
	if k < 2 || fields[0] > 24 || fields[1] > 59 || fields[2] > 59 {
		return Value{}, i
	}
	precision := 60.
	if k == 3 {
		precision = 1
	}
	return f.timed(i, fields[0], float64(fields[1]*60+fields[2]), precision), end
}

// hour reads an hour and its minutes: 20时, 下午3点, 8点半, 16-17时.
func (f *finder) hour(i int, n Number) (Value, int) {
	low := n
	if strings.HasPrefix(f.text[n.End:], "-") && n.End+1 < len(f.text) && isDigit(f.text[n.End+1]) {
		n = readPlain(f.text, n.End+1)
	}
	whole := func(v float64) bool { return v == math.Trunc(v) && v >= 0 && v <= 24 }
	r, size := utf8.DecodeRuneInString(f.text[n.End:])
	end := n.End + size
	if (r != '时' && r != '点') || !whole(n.Value) || !whole(low.Value) || !f.ends(end) {
		return Value{}, i
	}
	seconds, precision := 0., 3600.
	if strings.HasPrefix(f.text[end:], "半") && f.ends(end+len("半")) {
		seconds, precision, end = 1800, 60, end+len("半")
	} else if m, ok := f.numberAt(end); ok && strings.HasPrefix(f.text[m.End:], "分") && m.Value < 60 {
		seconds, precision, end = m.Value*60, 60, m.End+len("分")
	}
	v := f.timed(i, int(n.Value), seconds, precision)
	if low != n {
		v.Low = f.timed(i, int(low.Value), 0, precision).Low
	}
	return v, end
}

// late are the words before an hour that is counted from noon.
var late = []string{"下午", "晚", "晚上", "晚间", "傍晚", "夜间", "今晚", "当晚"}

// timed is a time of day; the word before it says which half of the day.
func (f *finder) timed(i, hour int, seconds, precision float64) Value {
	if hour < 12 {
		for _, word := range late {
			if strings.HasSuffix(f.text[:i], word) {
				hour += 12
				break
			}
		}
	}
	t := float64(hour*3600) + seconds
	return Value{Kind: Clock, Low: t, High: t, Precision: precision}
}
