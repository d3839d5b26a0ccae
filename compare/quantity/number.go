package quantity

import (
	"math"
	"unicode/utf8"
)

// Number is a number as it is written: 3000, 3.5, 1.2亿, 二十五.
type Number struct {
	Value float64
	// Place is the value of its last digit, 1000 of 1.8万; 0 where it is not known.
	Place float64
	End   int  // offset behind it
	Han   bool // written in Chinese digits
	digit bool // a single one
}

// numeralMost bounds a Chinese numeral, in characters: each character of a run is tried as the first of one.
const numeralMost = 24

// ReadNumber reads the number that begins at text[i]. A Chinese numeral begins with a digit or a ten, and has a power
// of ten and comes to ten or more, or is a year, digit by digit; other Chinese digits begin too many words.
func ReadNumber(text string, i int) (Number, bool) {
	if isDigit(text[i]) {
		return readDigits(text, i), true
	}
	if digit, power, _ := numeral(text, i); digit < 0 && power != 10 {
		return Number{}, false
	}
	if n, ok := readPowers(text, i); ok {
		return n, true
	}
	return readYear(text, i)
}

func isDigit(c byte) bool { return c-'0' < 10 }

// numeral is the Chinese digit at an offset, -1 for none, or the power of ten, 0 for none, and the offset behind it.
func numeral(text string, i int) (digit, power float64, end int) {
	r, size := utf8.DecodeRuneInString(text[i:])
	if r -= firstNumeral; r >= 0 && int(r) < len(numerals) {
		switch n := numerals[r]; {
		case n > 10:
			return -1, math.Pow10(int(n) - 10), i + size
		case n > 0:
			return float64(n - 1), 0, i + size
		}
	}
	return -1, 0, i + size
}

// readDigits reads digits with a point, and the powers behind them: 3.5万亿, 1亿2000万, 2亿零100万.
func readDigits(text string, i int) Number {
	plain := readPlain(text, i)
	n := plain.times(text)
	for n.End > plain.End && n.End < len(text) {
		next := n.End
		if digit, _, end := numeral(text, next); digit == 0 {
			next = end
		}
		if next == len(text) || !isDigit(text[next]) {
			break
		}
		plain = readPlain(text, next)
		more := plain.times(text)
		if more.End == plain.End || more.Value >= n.Place { // at least the power of ten that n was last multiplied by
			break
		}
		more.Value += n.Value
		n = more
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

// times reads the powers of a hundred or more behind a number.
func (n Number) times(text string) Number {
	for n.End < len(text) {
		_, power, end := numeral(text, n.End)
		if power < 100 {
			break
		}
		n.Value, n.Place, n.End = rounded(n.Value*power), n.Place*power, end
	}
	return n
}

// readPowers reads a numeral with powers of ten: 二十五, 两万三千, 一百零八, 一亿零二十三万.
func readPowers(text string, i int) (Number, bool) {
	total, section, digit := 0., 0., -1.
	seen, highest, last := 0, 0., 1.
	j := i
	for ; j < len(text) && seen < numeralMost; seen++ {
		d, p, end := numeral(text, j)
		switch {
		case d >= 0 && digit > 0:
			return Number{}, false
		case d >= 0:
			digit, j = d, end
			continue
		}
		tens := p < 1e4
		if p == 0 || seen == 0 && p != 10 || tens && digit < 0 && section > 0 {
			break
		}
		if tens {
			section += math.Abs(digit) * p
		} else if section += max(digit, 0); section == 0 {
			break
		} else if p > highest {
			total, section = (total+section)*p, 0
		} else {
			total, section = total+section*p, 0
		}
		digit, highest, last, j = -1, max(highest, p), p, end
	}
	if highest == 0 || seen < 2 {
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
		digit, _, end := numeral(text, j)
		if digit < 0 {
			return Number{}, false
		}
		value, j = value*10+digit, end
	}
	_, end := years.at(text, j)
	return Number{Value: value, Place: 1, End: j, Han: true}, end > j && value >= 1900 && value < 2100
}
