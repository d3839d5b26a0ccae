package sketch

import (
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// kind says what a token is. A Han character is one token, a Latin word is
// one, and a number is one whatever its length: two texts with 5.99 and 5.94
// in the same place share neither of the shingles over it, and runs of equal
// text never end inside a figure.
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

// token is one unit of text. The hash of a number is that of its value and
// kind, so that 三千, 3000 and 3,000 are one figure, and 12.00 is 12.
type token struct {
	hash       uint64
	start, end int32 // bytes in the normal form
	kind       kind
	clause     bool // first of its clause
}

// mix is the finaliser of MurmurHash3 (Appleby, public domain).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// appendTokens cuts a normal form into tokens.
func appendTokens(dst []token, s string) []token {
	first := true
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\n':
			first = true
			i++
			continue
		case isDigit(c):
			t := scanNumber(s, i)
			t.clause, first = first, false
			dst = append(dst, t)
			i = int(t.end)
			continue
		case c < utf8.RuneSelf:
			j := i
			h := uint64(14695981039346656037)
			for j < len(s) && (isLetter(s[j]) || j > i && isDigit(s[j])) {
				h = (h ^ uint64(s[j])) * 1099511628211
				j++
			}
			if j == i {
				i++
				continue
			}
			dst = append(dst, token{hash: mix(h), start: int32(i), end: int32(j), kind: word, clause: first})
			first = false
			i = j
			continue
		}
		r, n := rune(0), 3
		if i+2 < len(s) && c > 0xe0 && c < 0xed && s[i+1]&0xc0 == 0x80 && s[i+2]&0xc0 == 0x80 {
			r = rune(c&0xf)<<12 | rune(s[i+1]&0x3f)<<6 | rune(s[i+2]&0x3f) // as most are
		} else {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		if numerals>>(r&63)&1 != 0 && (hanDigit(r) >= 0 || r == '十') {
			if t, ok := scanHanNumber(s, i); ok {
				t.clause, first = first, false
				dst = append(dst, t)
				i = int(t.end)
				continue
			}
		}
		dst = append(dst, token{hash: hanHash(r), start: int32(i), end: int32(i + n), kind: han, clause: first})
		first = false
		i += n
	}
	return dst
}

// hanHash is the hash of a character that is a token by itself.
func hanHash(r rune) uint64 { return uint64(r) * 0x9e3779b97f4a7c15 }

// numerals has the low six bits of the Chinese digits and 十: most characters
// are told from them at once.
const numerals = 1<<('零'&63) | 1<<('〇'&63) | 1<<('一'&63) | 1<<('二'&63) | 1<<('两'&63) | 1<<('三'&63) | 1<<('四'&63) |
	1<<('五'&63) | 1<<('六'&63) | 1<<('七'&63) | 1<<('八'&63) | 1<<('九'&63) | 1<<('十'&63)

func isDigit(c byte) bool  { return c-'0' < 10 }
func isLetter(c byte) bool { return c-'a' < 26 }

// scanNumber reads the figure at s[i], a digit: 3000, 3.5%, 12:30, 1.2亿.
func scanNumber(s string, i int) token {
	t := token{start: int32(i), kind: number}
	j := i
	value, scale := 0.0, 0.0
	for ; j < len(s); j++ {
		switch c := s[j]; {
		case isDigit(c):
			value = value*10 + float64(c-'0')
			scale *= 10
		case c == '.' && scale == 0 && j+1 < len(s) && isDigit(s[j+1]):
			scale = 1
		case c == ':' && j+1 < len(s) && isDigit(s[j+1]):
			t.kind = clock
			value *= 100 // 12:30 is 12·1000+30: no clock reads like another
		default:
			goto done
		}
	}
done:
	if scale > 0 {
		value /= scale
	}
	if j < len(s) && s[j] == '%' {
		t.kind = percent
		j++
	}
	if t.kind == number {
		value, j = multiplier(s, j, value)
		t.kind = unitKind(s[j:], value)
	}
	t.end = int32(j)
	t.hash = figure(t.kind, value)
	return t
}

func figure(k kind, value float64) uint64 {
	return mix(math.Float64bits(math.Round(value*1e4)) ^ uint64(k)<<1 ^ 0x5851f42d4c957f2d)
}

// multiplier reads 千, 万, 亿 and 万亿 after a figure.
func multiplier(s string, j int, value float64) (float64, int) {
	for j < len(s) {
		switch r, n := utf8.DecodeRuneInString(s[j:]); r {
		case '千':
			value, j = value*1e3, j+n
		case '万':
			value, j = value*1e4, j+n
		case '亿':
			value, j = value*1e8, j+n
		default:
			return value, j
		}
	}
	return value, j
}

// unitKind tells dates from other figures by the character after them. Other
// units carry no information that their value does not (10 名 is 10 人).
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

// scanHanNumber reads a Chinese numeral where it is surely one: it starts with
// a digit or 十, has a power of ten, and comes to ten or more (十分, 万一 and
// 三五 stay words); or it is a year, digit by digit (二〇二四年); or one digit
// after 第 or before 届 and 次会议 (第三次, 二次会议).
func scanHanNumber(s string, i int) (token, bool) {
	if t, ok := scanHanPowers(s, i); ok {
		return t, true
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
		return token{hash: figure(year, value), start: int32(i), end: int32(j), kind: year}, true
	case n == 1 && (strings.HasSuffix(s[:i], "第") || strings.HasPrefix(s[j:], "届") || strings.HasPrefix(s[j:], "次会")):
		k := unitKind(s[j:], value)
		return token{hash: figure(k, value), start: int32(i), end: int32(j), kind: k}, true
	}
	return token{}, false
}

// hanDigit is the value of a Chinese digit, or -1.
func hanDigit(r rune) float64 {
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

// hanPower is the value of a Chinese power of ten, or 0.
func hanPower(r rune) float64 {
	switch r {
	case '十':
		return 10
	case '百':
		return 100
	case '千':
		return 1e3
	case '万':
		return 1e4
	case '亿':
		return 1e8
	}
	return 0
}

func scanHanPowers(s string, i int) (token, bool) {
	total, section, digit := 0.0, 0.0, -1.0
	j, powers, n := i, 0, 0
	for j < len(s) {
		r, size := utf8.DecodeRuneInString(s[j:])
		d := hanDigit(r)
		if d >= 0 {
			if digit > 0 {
				return token{}, false
			}
			digit = d
			j, n = j+size, n+1
			continue
		}
		p := hanPower(r)
		if p == 0 {
			break
		}
		if n == 0 && r != '十' {
			return token{}, false
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
		return token{}, false
	}
	if digit > 0 {
		section += digit
	}
	value := total + section
	k := unitKind(s[j:], value)
	return token{hash: figure(k, value), start: int32(i), end: int32(j), kind: k}, true
}

// base of the rolling hash over tokens; odd, so that no bit is ever lost.
const base = 0x9ddfea08eb382d69

// shingler rolls a hash over every k consecutive tokens.
type shingler struct {
	h, drop uint64 // drop is base^k
	k       int
}

func newShingler(k int) shingler {
	s := shingler{k: k, drop: 1}
	for range k {
		s.drop *= base
	}
	return s
}

// next takes in tokens[i] and reports the hash of the shingle that ends there,
// if there are enough tokens for one.
func (s *shingler) next(tokens []token, i int) (uint64, bool) {
	s.h = s.h*base + tokens[i].hash
	if i >= s.k {
		s.h -= tokens[i-s.k].hash * s.drop
	}
	return mix(s.h), i >= s.k-1
}

// pick maps a hash onto n without the bias of the low bits.
func pick(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}
