package quantity

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Number is a number as it is written: 3000, 3.5, 1.2亿, 二十五.
type Number struct {
	Value float64
	// Place is the value of its last digit, 1000 of 1.8万; 0 where it is not known.
	Place float64
	End   int  // offset behind it
	Han   bool // written in Chinese digits
}

// powers are the Chinese powers of ten.
var powers = map[rune]float64{'十': 10, '百': 100, '千': 1e3, '万': 1e4, '亿': 1e8}

// numeralMost bounds a Chinese numeral, in characters: each character of a run is tried as the first of one.
const numeralMost = 24

// ReadNumber reads the number that begins at text[i]. A Chinese numeral begins with a digit or 十, and has a power of
// ten and comes to ten or more, or is a year, digit by digit; other Chinese digits begin too many words.
func ReadNumber(text string, i int) (Number, bool) {
	if isDigit(text[i]) {
		return readDigits(text, i), true
	}
	if text[i] < utf8.RuneSelf {
		return Number{}, false
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	if digitOf(r) < 0 && r != '十' {
		return Number{}, false
	}
	if n, ok := readPowers(text, i); ok {
		return n, true
	}
	return readYear(text, i)
}

func isDigit(c byte) bool { return c-'0' < 10 }

// readDigits reads digits with a point, and the powers behind them: 3.5万亿, 1亿2000万, 2亿零100万.
func readDigits(text string, i int) Number {
	n := readPlain(text, i)
	value, end := multiply(text, n.End, n.Value)
	if end == n.End {
		return n
	}
	n.Place, n.Value, n.End = n.Place*value/math.Max(n.Value, 1e-9), value, end
	for n.End < len(text) {
		next := n.End + len(text[n.End:]) - len(strings.TrimPrefix(text[n.End:], "零"))
		if next == len(text) || !isDigit(text[next]) {
			break
		}
		part := readPlain(text, next)
		value, end := multiply(text, part.End, part.Value)
		if end == part.End || value >= n.Place { // at least the power of ten that n was last multiplied by
			break
		}
		n.Place, n.Value, n.End = part.Place*value/math.Max(part.Value, 1e-9), n.Value+value, end
	}
	return n
}

// readPlain reads digits with at most one point.
func readPlain(text string, i int) Number {
	j, point := i, -1
	value := 0.
	for ; j < len(text); j++ {
		if c := text[j]; isDigit(c) {
			value = min(value*10+float64(c-'0'), math.MaxInt64) // a longer number is a code
		} else if c == '.' && point < 0 && j+1 < len(text) && isDigit(text[j+1]) {
			point = j
		} else {
			break
		}
	}
	place := 1.
	if point >= 0 {
		place = math.Pow10(point + 1 - j)
		value /= math.Pow10(j - point - 1)
	}
	return Number{Value: value, Place: place, End: j}
}

// multiply reads the powers from 千 on behind digits.
func multiply(text string, i int, value float64) (float64, int) {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		p := powers[r]
		if p < 100 {
			break
		}
		value, i = value*p, i+size
	}
	return value, i
}

// digitOf is the value of a Chinese digit, -1 for none.
func digitOf(r rune) float64 {
	switch r {
	case '零', '〇':
		return 0
	case '一':
		return 1
	case '二', '两':
		return 2
	case '三':
		return 3
	case '四':
		return 4
	case '五':
		return 5
	case '六':
		return 6
	case '七':
		return 7
	case '八':
		return 8
	case '九':
		return 9
	}
	return -1
}

// readPowers reads a numeral with powers of ten: 二十五, 两万三千, 一百零八, 一亿零二十三万.
func readPowers(text string, i int) (Number, bool) {
	total, section, digit := 0., 0., -1.
	digits, seen := 0, 0
	power, last := 0., 1.
	j := i
	for j < len(text) && seen < numeralMost {
		r, size := utf8.DecodeRuneInString(text[j:])
		p := powers[r]
		if d := digitOf(r); d >= 0 {
			if digit > 0 {
				return Number{}, false
			}
			digit = d
		} else if p == 0 || seen == 0 && r != '十' {
			break
		} else if p < 1e4 {
			if digit < 0 && seen > 0 && section > 0 {
				break
			}
			section += math.Abs(digit) * p
			digit, power, last = -1, max(power, p), p
		} else {
			if section += max(digit, 0); section == 0 {
				break
			}
			if p > power {
				total = (total + section) * p
			} else {
				total += section * p
			}
			section, digit, power, last = 0, -1, max(power, p), p
		}
		if p > 0 {
			digits++
		}
		j, seen = j+size, seen+1
	}
	if digits == 0 || seen < 2 {
		return Number{}, false
	}
	if digit > 0 {
		section, last = section+digit, 1
	}
	return Number{Value: total + section, Place: last, End: j, Han: true}, true
}

// readYear reads a year digit by digit: 二〇二四年.
func readYear(text string, i int) (Number, bool) {
	value, j := 0., i
	for range 4 {
		r, size := utf8.DecodeRuneInString(text[j:])
		d := digitOf(r)
		if size == 0 || d < 0 {
			return Number{}, false
		}
		value, j = value*10+d, j+size
	}
	if !strings.HasPrefix(text[j:], "年") || !isYear(value) {
		return Number{}, false
	}
	return Number{Value: value, Place: 1, End: j, Han: true}, true
}

func isYear(v float64) bool { return v >= 1900 && v < 2100 && v == math.Trunc(v) }
