package sketch

import "unicode/utf8"

// token is one unit of text. The hash of a figure is that of its value and kind, so 三千, 3000 and 3,000 are
// one figure, and 12.00 is 12.
type token struct {
	hash       uint64
	start, end int32 // bytes in the normal form
	kind       kind
	clause     bool // first of its clause
}

// appendTokens cuts a normal form into tokens.
func appendTokens(dst []token, s string) []token {
	first := true
	for i := 0; i < len(s); {
		x := readToken(s, i)
		if x.end == i { // a space, a line break or the punctuation of a number
			first = first || s[i] == '\n'
			i++
			continue
		}
		dst = append(dst, token{hash: x.hash, start: int32(i), end: int32(x.end), kind: x.kind, clause: first})
		first, i = false, x.end
	}
	return dst
}

// readToken reads the token at s[i]; it is empty where none begins.
func readToken(s string, i int) lexeme {
	switch c := s[i]; {
	case isDigit(c):
		return readNumber(s, i)
	case c < utf8.RuneSelf:
		return readWord(s, i)
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	if hanDigit(r) >= 0 || r == '十' {
		if x, ok := readNumeral(s, i); ok {
			return x
		}
	}
	return lexeme{hash: hanHash(r), end: i + size, kind: han}
}

// readWord reads a Latin word: letters, then letters and digits.
func readWord(s string, i int) lexeme {
	j := i
	h := uint64(14695981039346656037) // FNV-1a
	for j < len(s) && (s[j]-'a' < 26 || j > i && isDigit(s[j])) {
		h = (h ^ uint64(s[j])) * 1099511628211
		j++
	}
	return lexeme{hash: mix(h), end: j, kind: word}
}

// hanHash is the hash of a character that is a token by itself.
func hanHash(r rune) uint64 { return uint64(r) * 0x9e3779b97f4a7c15 }
