// Package quantity finds the quantities of a Chinese text: numbers with their units, shares, money, durations, dates,
// times of day, ordinals, ranges and scores.
//
// There is one grammar, in Go, and two tables: its words, data/tables/numerals.tsv, and the units, units.tsv. All work
// over the words of the segmenter: a unit ends where a word ends, so that 5升值 has no litres and 3成都 no tenths.
//
// A Value is a kind, a low and a high bound, a unit and a precision. Equal is an equivalence relation; MayBe says
// whether two values may be one although they are written otherwise, and is reflexive and symmetric only: 8月9日 may be
// 9日, which may be 7月9日.
package quantity

// Kind is what a Value measures.
type Kind uint8

const (
	Count   Kind = iota // a number, with or without a unit: 3000元, 25%, 两例, 5分钟
	Date                // a year, month or day: 2023年8月, 9日
	Clock               // a time of day: 12:30, 下午3点
	Ordinal             // 第三届
	Pair                // a score, a fraction, a ratio: 3比2, 1/3
	Code                // a number of several parts: 8.0.15, 2023-08-15
)

// Value is a quantity of a text: Text[Start:End] of the text that it was found in.
type Value struct {
	Start, End int
	Kind       Kind
	// Low and High are the bounds of a range, equal for a single value, in Unit. A Date is year*10000 + month*100 +
	// day, 0 for what is not said; a Clock counts seconds.
	Low, High float64
	// Unit is the name of the base unit; empty: none.
	Unit string
	// Precision is the value of the last digit that is written; 0: not known. Of a Clock, 3600 where only the hour is
	// said.
	Precision float64
	// Weak is what may be a word as well as a quantity (一次, 三个): it says again what stands elsewhere, and is no news
	// by itself.
	Weak bool
}

// Equal reports whether two values are the same, however they are written: 10公里 and 10000米.
func (v *Value) Equal(o *Value) bool {
	return v.Kind == o.Kind && v.Low == o.Low && v.High == o.High && v.Unit == o.Unit && (v.Kind != Clock ||
		v.Precision == o.Precision)
}

// MayBe reports whether two values may be one: equal, one rounded, or one that says less: 8月9日 and 9日, 1.8万 and 18,405.
func (v *Value) MayBe(o *Value) bool {
	switch {
	case v.Equal(o):
		return true
	case v.Kind != o.Kind:
		return false
	case v.Kind == Date:
		both, equal, _, _ := dates(v, o)
		return both > 0 && both == equal
	case v.Kind == Clock:
		coarse := max(v.Precision, o.Precision)
		return v.Low < o.High+coarse && o.Low < v.High+coarse && int(v.Low/coarse) <= int(o.High/coarse) &&
			int(o.Low/coarse) <= int(v.High/coarse)
	}
	return v.Kind == Count && v.measures(o) && (v.Low == o.Low && v.High == o.High || v.rounds(o) || o.rounds(v))
}

// Comparable reports whether two values that may not be one say different things of one matter, if they stand at one
// place.
func (v *Value) Comparable(o *Value) bool {
	if v.Kind == Date && o.Kind == Date {
		both, _, ours, theirs := dates(v, o)
		return both > 0 && min(ours, theirs) == 0
	}
	return v.Kind == o.Kind && v.measures(o)
}

// measures reports whether two values have one unit, or one of them has none.
func (v *Value) measures(o *Value) bool { return v.Unit == o.Unit || v.Unit == "" || o.Unit == "" }

// rounds reports whether v is o rounded or cut off: 1.8万 and 18,405, 3.3% and 3.32%; but not 110 and 107.
func (v *Value) rounds(o *Value) bool {
	a, b := v.Low, o.Low
	if a < 0 {
		a, b = -a, -b
	}
	if v.Precision <= o.Precision || o.Precision <= 0 || v.Low != v.High || o.Low != o.High || b < 10*o.Precision {
		return false
	}
	d := b - a
	return d >= 0 && d < v.Precision || d < 0 && -d <= v.Precision/2
}

// date is the year, month and day of a date, 0 for what it does not say.
func (v *Value) date() [3]int {
	return [...]int{int(v.Low) / 1e4, int(v.Low) / 100 % 100, int(v.Low) % 100}
}

// dates counts what two dates say: what both do, how much of that is equal, and what only one of them does.
func dates(v, o *Value) (both, equal, ours, theirs int) {
	d, e := v.date(), o.date()
	for i := range d {
		switch {
		case d[i] > 0 && e[i] > 0:
			if both++; d[i] == e[i] {
				equal++
			}
		case d[i] > 0:
			ours++
		case e[i] > 0:
			theirs++
		}
	}
	return both, equal, ours, theirs
}

// Finer reports whether v says more than o, which may be the same.
func (v *Value) Finer(o *Value) bool {
	if v.Kind == Date {
		_, _, ours, _ := dates(v, o)
		return ours > 0
	}
	return v.Precision > 0 && v.Precision < o.Precision && (v.Low != o.Low || v.High != o.High) // 10% is 一成
}
