package wire

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// Decode reads a JSON request or report. The query refers to the body until it is decoded
// into again.
func (q *Query) Decode(body []byte) error {
	q.reset(body)
	ok, err := q.scan()
	if err != nil {
		return err
	}
	if !ok {
		q.reset(body)
		return q.decodeSlow(body)
	}
	return nil
}

// scan returns false where it leaves the body to decodeSlow.
func (q *Query) scan() (bool, error) {
	s := &scanner{b: q.body, plain: q.quotes.read(q.body)}
	if !s.next('{') {
		return false, nil
	}
	if s.next('}') {
		return s.end(), nil
	}
	for {
		name, ok := s.simpleString()
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
			v, ok = s.simpleString()
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
		return s.next('}') && s.end(), nil
	}
}

// scanner is a cursor over JSON text.
type scanner struct {
	b     []byte
	i     int
	plain bool
	tries int // calls of scanVector, each of which reads all of the rest
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// next steps over white space and then over c, if it is there.
func (s *scanner) next(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) end() bool {
	s.space()
	return s.i == len(s.b)
}

// simpleString reads a string without escapes, control characters or broken UTF-8.
func (s *scanner) simpleString() ([]byte, bool) {
	if !s.next('"') {
		return nil, false
	}
	n := bytes.IndexByte(s.b[s.i:], '"')
	if n < 0 {
		return nil, false
	}
	v := s.b[s.i : s.i+n]
	if !s.plain && !simple(v) {
		return nil, false
	}
	s.i += n + 1
	return v, true
}

// simple says that the inside of a string stands for itself.
func simple(v []byte) bool {
	return utf8.Valid(v) && !bytes.ContainsFunc(v, func(r rune) bool { return r < 0x20 || r == '\\' })
}

// int reads a plain decimal integer that fits an int32.
func (s *scanner) int() (int, bool) {
	s.space()
	n := numberLen(s.b[s.i:])
	v, err := strconv.ParseInt(string(s.b[s.i:s.i+n]), 10, 32)
	if n == 0 || err != nil {
		return 0, false
	}
	s.i += n
	return int(v), true
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
		if s.plain && b[s.i] == '"' && s.tries < 4 {
			s.tries++
			s.i = q.scanVector(s.i)
		}
		if len(q.spans) == MaxItems {
			return false, TooLargef("items", "has more than %d ids", MaxItems)
		}
		start := s.i
		if b[start] == '"' && s.plain {
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
			n := tokenLen(b[start:])
			if n == 0 {
				return false, nil
			}
			if err := q.addToken(start, start+n); err != nil {
				return false, err
			}
			s.i = start + n
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
