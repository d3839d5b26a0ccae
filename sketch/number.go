package sketch

import (
	"math"
	"strings"
	"unicode/utf8"
)

// kind is the kind of a token. A Han character is one token, a Latin word is one, and a figure is one whatever
// its length: texts with 5.99 and 5.94 in the same place share no shingle over it, and no run of equal text
// ends inside a figure.
type kind uint8

const (
	han kind = iota
	word
	number
	year
	month
	day
	clock
	percent
)

func (k kind) isNumber() bool { return k >= number }

// mix is the finaliser of MurmurHash3 (Appleby, public domain).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func isDigit(c byte) bool { return c-'0' < 10 }

// A lexeme is a token that was read at some offset: its hash, end and kind, and the value of a figure.
type lexeme struct {
	hash  uint64
	end   int
	kind  kind
	value float64
}

// figure is the lexeme of a figure; its hash is that of its value and kind.
func figure(k kind, value float64, end int) lexeme {
	return lexeme{mix(math.Float64bits(math.Round(value*1e4)) ^ uint64(k)<<1 ^ 0x5851f42d4c957f2d), end, k, value}
}

// readNumber reads the figure at s[j], a digit: 3000, 3.5%, 12:30, 1.2亿.
func readNumber(s string, j int) lexeme {
	k := number
	value, scale := 0.0, 0.0
digits:
	for ; j < len(s); j++ {
		switch c := s[j]; {
		case isDigit(c):
			value = value*10 + float64(c-'0')
			scale *= 10
		case c == '.' && scale == 0 && j+1 < len(s) && isDigit(s[j+1]):
			scale = 1
		case c == ':' && j+1 < len(s) && isDigit(s[j+1]):
			k = clock
			value *= 100 // 12:30 is 12·100·100+30, so no two times have one value
		default:
			break digits
		}
	}
	if scale > 0 {
		value /= scale
	}
	if j < len(s) && s[j] == '%' {
		k = percent
		j++
	}
	if k == number {
		value, j = multiplier(s, j, value)
		k = unitKind(s[j:], value)
	}
	return figure(k, value, j)
}

// multiplier reads 千, 万, 亿 and 万亿 after a figure.
func multiplier(s string, j int, value float64) (float64, int) {
	for j < len(s) {
		r, n := utf8.DecodeRuneInString(s[j:])
		if p := hanPower[r]; p >= 1e3 {
			value, j = value*p, j+n
		} else {
			break
		}
	}
	return value, j
}

// unitKind recognises dates by the character after the figure. Other units add nothing to the value (10 名 is
// 10 人).
func unitKind(rest string, value float64) kind {
	switch r, _ := utf8.DecodeRuneInString(rest); r {
	case '年':
		if value >= 1900 && value < 2100 {
			return year
		}
	case '月':
		if value <= 12 {
			return month
		}
	case '日', '号':
		if value <= 31 {
			return day
		}
	}
	return number
}

// readNumeral reads a Chinese numeral where there is no doubt: it starts with a digit or 十, has a power of
// ten, and comes to ten or more (十分, 万一 and 三五 stay words); or it is a year, digit by digit (二〇二四年);
// or one digit after 第 or before 届 and 次会议 (第三次, 二次会议).
func readNumeral(s string, i int) (lexeme, bool) {
	if f, ok := readPowers(s, i); ok {
		return f, true
	}
	value, n := 0., 0
	j := i
	for j < len(s) && n < 4 {
		r, size := utf8.DecodeRuneInString(s[j:])
		d := hanDigit(r)
		if d < 0 {
			break
		}
		value, n, j = value*10+d, n+1, j+size
	}
	switch {
	case n == 4 && unitKind(s[j:], value) == year:
		return figure(year, value, j), true
	case n == 1 && (strings.HasSuffix(s[:i], "第") || strings.HasPrefix(s[j:], "届") || strings.HasPrefix(s[j:], "次会")):
		return figure(unitKind(s[j:], value), value, j), true
	}
	return lexeme{}, false
}

// hanDigit is the value of a Chinese digit, or -1.
func hanDigit(r rune) float64 {
	switch r {
	case '零', '〇', '一', '二', '两', '三', '四', '五', '六', '七', '八', '九':
		return float64(max(strings.IndexRune("零一二三四五六七八九", r), strings.IndexRune("〇一两", r)) / len("零"))
	}
	return -1
}

// hanPower has the values of the Chinese powers of ten.
var hanPower = map[rune]float64{'十': 10, '百': 100, '千': 1e3, '万': 1e4, '亿': 1e8}

// numeralRunes bounds a Chinese numeral. Every character of a run of digits is tried as the first of a numeral, so that without a
// bound the work would grow with the square of the run.
const numeralRunes = 32

// readPowers reads a numeral with powers of ten: 二十五, 两万三千, 一百零八.
func readPowers(s string, j int) (lexeme, bool) {
	total, section, digit := 0.0, 0.0, -1.0
	powers, n := 0, 0
	for j < len(s) {
		r, size := utf8.DecodeRuneInString(s[j:])
		d := hanDigit(r)
		if d >= 0 {
			if digit > 0 || n == numeralRunes {
				return lexeme{}, false
			}
			digit = d
			j, n = j+size, n+1
			continue
		}
		p := hanPower[r]
		if p == 0 {
			break
		}
		if n == 0 && r != '十' {
			return lexeme{}, false
		}
		if p < 1e4 {
			if digit < 0 {
				if n > 0 {
					break
				}
				digit = 1
			}
			section += digit * p
		} else {
			if digit > 0 {
				section += digit
			}
			if section == 0 {
				break
			}
			total, section = (total+section)*p, 0
		}
		digit = -1
		powers++
		j, n = j+size, n+1
	}
	if powers == 0 || n < 2 {
		return lexeme{}, false
	}
	if digit > 0 {
		section += digit
	}
	value := total + section
	return figure(unitKind(s[j:], value), value, j), true
}

// lastPlace is the value of the last digit of a number; that of one that is not written in digits is not finite.
func lastPlace(text string, value float64) float64 {
	digits := 0.
	for i := range len(text) {
		if isDigit(text[i]) {
			digits = digits*10 + float64(text[i]-'0')
		}
	}
	return value / digits
}
