package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Decode reads a JSON request or report. The query refers to the body until it is decoded
// into again.
func (q *Query) Decode(body []byte) error {
	body = bytes.TrimSpace(body)
	q.reset(body)
	ok, err := q.scan()
	if err != nil || ok {
		return err
	}
	q.reset(body)
	return q.decodeSlow()
}

// scan returns false where it leaves the body to decodeSlow.
func (q *Query) scan() (bool, error) {
	s := &scanner{b: q.body}
	if !q.quotes.read(q.body) || !s.next('{') {
		return false, nil
	}
	for empty := s.next('}'); !empty; {
		name, ok := q.scanString(s)
		if !ok || !s.next(':') {
			return false, nil
		}
		bit, value := q.field(string(name))
		if bit == 0 || q.has&bit != 0 {
			return false, nil
		}
		q.has |= bit
		switch value := value.(type) {
		case *string:
			var v []byte
			v, ok = q.scanString(s)
			*value = string(v)
		case *int:
			*value, ok = s.int()
		default:
			var err error
			if ok, err = q.scanItems(s); err != nil {
				return false, err
			}
		}
		if !ok {
			return false, nil
		}
		if s.next(',') {
			continue
		}
		if !s.next('}') {
			return false, nil
		}
		break
	}
	s.space()
	return s.i == len(s.b), nil
}

// scanner is a cursor over JSON text.
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

// scanString reads a string.
func (q *Query) scanString(s *scanner) ([]byte, bool) {
	if !s.next('"') {
		return nil, false
	}
	end := q.quotes.next(s.i)
	if end < 0 {
		return nil, false
	}
	v := s.b[s.i:end]
	s.i = end + 1
	return v, true
}

// int reads a plain decimal integer that fits an int32.
func (s *scanner) int() (int, bool) {
	s.space()
	n := numberLen(s.b[s.i:])
	v, err := strconv.ParseInt(string(s.b[s.i:s.i+n]), 10, 32)
	s.i += n
	return int(v), err == nil
}

// scanItems reads the array of ids: the only part of a request that is long.
func (q *Query) scanItems(s *scanner) (bool, error) {
	if !s.next('[') {
		return false, nil
	}
	if s.next(']') {
		return true, nil
	}
	b := s.b
	for {
		s.space()
		if s.i >= len(b) {
			return false, nil
		}
		if b[s.i] == '"' && s.tries < 4 {
			s.tries++
			s.i = q.scanVector(s.i)
		}
		if len(q.spans) == MaxItems {
			return false, TooLargef("items", "has more than %d ids", MaxItems)
		}
		start := s.i
		if b[start] == '"' {
			end := q.quotes.next(start + 1)
			if end < 0 {
				return false, nil
			}
			if n := end - start - 1; n == 0 || n > MaxIDBytes {
				return false, idLength(len(q.spans), n)
			}
			q.spans = append(q.spans, span{uint32(start + 1), uint32(end)})
			s.i = end + 1
		} else {
			s.i += numberLen(b[start:])
			if s.i == start {
				return false, nil
			}
			if err := q.addInt(start, s.i); err != nil {
				return false, err
			}
		}
		if s.i+1 < len(b) && b[s.i] == ',' && b[s.i+1] == '"' {
			s.i++
			continue
		}
		if s.next(',') {
			continue
		}
		return s.next(']'), nil
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
