package quantity

import (
	"math"
	"strconv"
	"strings"
)

// date reads a date, or a number of years as in 3年: 2023年8月9日, 8月, 9日.
func (f *finder) date(i int, n Number) (Value, int) {
	year, month, day, end := 0, 0, 0, i
	take := func(r role, least, most float64, into *int) {
		w, after := r.at(f.text, n.End)
		if after > n.End && n.End > end && n.Value >= least && n.Value <= most && n.Value == math.Trunc(n.Value) &&
			(w.value == 0 || month > 0) { // 号
			*into, end = int(n.Value), after
			n, _ = f.numberAt(end)
		}
	}
	_, month1 := months.at(f.text, n.End)
	if _, day1 := days.at(f.text, n.End); n.Value != math.Trunc(n.Value) && max(month1, day1) > n.End {
		return Value{Kind: none}, n.End // 1.7月 is item 1, about July
	}
	take(years, 1900, 2099, &year)
	take(months, 1, 12, &month)
	if month > 0 || year == 0 && !f.behindOrdinal(i) {
		take(days, 1, 31, &day)
	}
	if end == i && isYear(n.Value) { // 2021至2023年 are two years
		_, second := ranges.at(f.text, n.End)
		if m, ok := f.numberAt(second); ok && second > n.End && isYear(m.Value) {
			if _, after := years.at(f.text, m.End); after > m.End {
				year, end = int(n.Value), n.End
			}
		}
	}
	return dated(year, month, day), end
}

func isYear(v float64) bool { return v >= 1900 && v < 2100 && v == math.Trunc(v) }

// dated is a date; 0 for what is not said.
func dated(year, month, day int) Value {
	date := float64(year*10000 + month*100 + day)
	return Value{Kind: Date, Low: date, High: date}
}

// dottedMost is the length of the longest number of several parts, in bytes.
const dottedMost = 32

// run is what begins at i of digits and marks, up to the last digit.
func (f *finder) run(i int, marks string) string {
	rest := f.text[i:min(i+dottedMost, len(f.text))]
	return strings.TrimRight(rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"+marks))], marks)
}

// dotted reads a date or another number of three or more parts: 2023-08-15, 8.0.15.
func (f *finder) dotted(i int, _ Number) (Value, int) {
	run := f.run(i, ".-/")
	at := strings.IndexAny(run, ".-/")
	if at < 0 || strings.Count(run, run[at:at+1]) < 2 {
		return Value{}, i
	}
	code, fields := 0., []float64{}
	for p := range strings.SplitSeq(run, run[at:at+1]) {
		field, _ := strconv.ParseFloat(p, 64)
		code, fields = math.Mod(code*1e4+field, 1<<52), append(fields, field)
	}
	y, m, d := fields[0], fields[1], fields[2]
	if len(fields) == 3 && isYear(y) && m >= 1 && m <= 12 && d >= 1 && d <= 31 {
		return dated(int(y), int(m), int(d)), i + len(run)
	}
	return Value{Kind: Code, Low: code, High: code}, i + len(run)
}

// clock reads a time of day in figures, 12:30 or 19:30:05; anything else with a colon is a ratio.
func (f *finder) clock(i int, _ Number) (Value, int) {
	parts := strings.Split(f.run(i, ":"), ":")
	fields, end, precision := [3]int{}, i-1, 3600.*60
	for k, part := range parts[:min(3, len(parts))] {
		fields[k], _ = strconv.Atoi(part)
		end, precision = end+1+len(part), precision/60
		if k > 0 && len(part) != 2 { // 3:2 is a score
			return Value{}, i
		}
	}
	if len(parts) < 2 || fields[0] > 24 || fields[1] > 59 || fields[2] > 59 {
		return Value{}, i
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
	_, end := hours.at(f.text, n.End)
	if end == n.End || !whole(n.Value) || !whole(low.Value) || !f.ends(end) {
		return Value{}, i
	}
	past, precision := 0., 3600.
	if _, after := halves.at(f.text, end); after > end && f.ends(after) {
		past, precision, end = 30*60, 60, after
	}
	if m, ok := f.numberAt(end); ok && m.Value < 60 {
		if _, after := minutes.at(f.text, m.End); after > m.End {
			past, precision, end = m.Value*60, 60, after
		}
	}
	v := f.timed(i, int(n.Value), past, precision)
	if low != n {
		v.Low = f.timed(i, int(low.Value), 0, precision).Low
	}
	return v, end
}

// timed is a time of day, some seconds past an hour; the word before it says which half of the day.
func (f *finder) timed(i, hour int, past, precision float64) Value {
	if hour < 12 && lates.before(f.text, i) > 0 {
		hour += 12
	}
	t := float64(hour*3600) + past
	return Value{Kind: Clock, Low: t, High: t, Precision: precision}
}
