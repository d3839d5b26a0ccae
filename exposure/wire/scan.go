package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

// scanItems reads the list of ids, nearly all of a long body, if it is as clients usually send it, and returns where it
// stands.
func (q *Query) scanItems() (from, to int, ok bool) {
	at := bytes.Index(q.body, []byte(`"items"`))
	if at < 0 || !q.quotes.read(q.body) {
		return 0, 0, false
	}
	s := &scanner{b: q.body, i: at + len(`"items"`)}
	if !s.next(':') {
		return 0, 0, false
	}
	s.space()
	from = s.i
	ok = q.scanList(s)
	return from, s.i, ok
}

type scanner struct {
	b     []byte
	i     int
	tries int // calls of scanVector, each of which reads all of the rest
}

func (s *scanner) space() {
	for s.i < len(s.b) && s.b[s.i] == ' ' {
		s.i++
	}
}

// next steps over spaces and then over c, if it is there.
func (s *scanner) next(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// scanList reads a list of ids. It returns false if that is for decode to read.
func (q *Query) scanList(s *scanner) bool {
	if !s.next('[') {
		return false
	}
	if s.next(']') {
		return true
	}
	b := s.b
	for {
		s.space()
		if s.i >= len(b) {
			return false
		}
		if b[s.i] == '"' && s.tries < 4 {
			s.tries++
			s.i = q.scanVector(s.i)
		}
		if len(q.spans) == MaxItems {
			return false
		}
		start := s.i
		if b[start] == '"' {
			end := q.quotes.next(start + 1)
			if n := end - start - 1; n <= 0 || n > MaxIDBytes {
				return false
			}
			q.spans = append(q.spans, span{uint32(start + 1), uint32(end)})
			s.i = end + 1
		} else {
			s.i += numberLen(b[start:])
			if s.i == start || q.addInt(start, s.i) != nil {
				return false
			}
		}
		if s.i+1 < len(b) && b[s.i] == ',' && b[s.i+1] == '"' {
			s.i++
			continue
		}
		if s.next(',') {
			continue
		}
		return s.next(']')
	}
}

// addInt adds the id whose token, an integer, is body[start:end].
func (q *Query) addInt(start, end int) error {
	v, err := strconv.ParseInt(string(q.body[start:end]), 10, 64)
	if err != nil {
		return Invalidf("items", "id %d is a number, but not one of 64 bits", len(q.spans))
	}
	from := len(q.scratch)
	q.scratch = strconv.AppendInt(q.scratch, v, 10)
	q.addOdd(start, end, from)
	return nil
}

// numberLen is the length of a JSON integer at the start of b; 0 where there is
// none, or where it goes on as a fraction or exponent.
func numberLen(b []byte) int {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	digits := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == digits || b[digits] == '0' && i > digits+1 {
		return 0
	}
	if i < len(b) && (b[i] == '.' || b[i]|0x20 == 'e') {
		return 0
	}
	return i
}

// What else a body holds than printable ASCII.
const (
	hasOther = 1 << iota // backslashes or control characters
	hasHigh              // bytes of 0x80 and more
)

// mapQuotesPlain maps whole blocks of 64 bytes, eight bytes at a time.
func mapQuotesPlain(b []byte, to []uint64) (has byte) {
	const (
		ones, highs    = 0x0101010101010101, 0x8080808080808080
		quotes, slash  = '"' * ones, '\\' * ones
		space, gather7 = ' ' * ones, 0x0002040810204081
	)
	var other, high uint64
	for i := range len(b) / 64 {
		var word uint64
		for j, block := 0, b[64*i:64*i+64]; j < 64; j += 8 {
			w := binary.LittleEndian.Uint64(block[j:])
			// The sums stay inside their bytes: what is left of a byte of w
			// without its high bit, and 127, make that bit 0 for nothing alone.
			q, s := w^quotes, w^slash
			q = ^(q&^highs + ^uint64(highs) | q) & highs
			s = ^(s&^highs + ^uint64(highs) | s) & highs
			other |= s | ^(w|highs-space|w)&highs
			high |= w
			word |= q * gather7 >> 56 << j
		}
		to[i] = word
	}
	if other != 0 {
		has |= hasOther
	}
	if high&highs != 0 {
		has |= hasHigh
	}
	return has
}

// read maps b, and says whether it is plain: valid UTF-8 without backslashes and
// control characters, so that the end of a string is simply its next quote.
func (q *quoteMap) read(b []byte) (plain bool) {
	n := (len(b) + 63) / 64
	*q = slices.Grow((*q)[:0], n)[:n]
	whole := len(b) / 64
	has := mapQuotes(b[:64*whole], *q)
	if whole < n {
		var last [64]byte
		for i := copy(last[:], b[64*whole:]); i < 64; i++ {
			last[i] = ' '
		}
		has |= mapQuotes(last[:], (*q)[whole:])
	}
	return has == 0 || has == hasHigh && utf8.Valid(b)
}

// next is the first quote at or after i, or -1.
func (q quoteMap) next(i int) int {
	w := i >> 6
	if w >= len(q) {
		return -1
	}
	for x := q[w] >> (i & 63) << (i & 63); ; x = q[w] {
		if x != 0 {
			return w<<6 + bits.TrailingZeros64(x)
		}
		if w++; w == len(q) {
			return -1
		}
	}
}
