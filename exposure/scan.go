package exposure

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// span is one id of a request: raw is its token as it came (with its quotes), to
// answer with; id is its decoded bytes, to hash. Offsets into message.body, or with
// inScratch set into message.scratch.
type span struct {
	raw0, raw1 uint32
	id0, id1   uint32
}

const inScratch = 1 << 31

// message is a decoded request or event. It is pooled; its slices are reused.
type message struct {
	body    []byte
	scratch []byte
	spans   []span
	keys    []uint32
	marks   []byte
	order   []uint32
	seen    []uint32 // open-addressing set of span numbers, to find repeats

	user, scene, scope, mark, kind, at string
	max, atLeast, deadlineMS           int
	has                                fieldSet
}

type fieldSet uint16

const (
	fUser fieldSet = 1 << iota
	fItems
	fScene
	fScope
	fMax
	fAtLeast
	fMark
	fDeadline
	fKind
	fAt
)

func (m *message) reset(body []byte) {
	*m = message{body: body, scratch: m.scratch[:0], spans: m.spans[:0], keys: m.keys[:0],
		marks: m.marks[:0], order: m.order[:0], seen: m.seen}
}

func (m *message) id(i int) []byte {
	sp := &m.spans[i]
	if sp.id0&inScratch != 0 {
		return m.scratch[sp.id0&^inScratch : sp.id1&^inScratch]
	}
	return m.body[sp.id0:sp.id1]
}

// decode reads a JSON request or event. The scanner does what requests look like in
// practice; whatever it will not vouch for (unknown or repeated fields, escaped
// field names, broken text) goes to encoding/json, which has the last word.
func (m *message) decode(body []byte) error {
	m.reset(body)
	ok, err := m.scan()
	if err != nil {
		return err
	}
	if !ok {
		m.reset(body)
		if err := m.decodeSlow(body); err != nil {
			return err
		}
	}
	return nil
}

// plain says that a body is printable ASCII without backslashes, so that the end of
// a string is simply its next quote.
func plain(b []byte) bool {
	if bytes.IndexByte(b, '\\') >= 0 {
		return false
	}
	const high, low = 0x8080808080808080, 0x2020202020202020
	var bad uint64 // a byte under 0x20 borrows into its high bit
	le := binary.LittleEndian
	for len(b) >= 32 {
		w, x, y, z := le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:])
		bad |= w | (w - low) | x | (x - low) | y | (y - low) | z | (z - low)
		b = b[32:]
	}
	for len(b) >= 8 {
		w := le.Uint64(b)
		bad |= w | (w - low)
		b = b[8:]
	}
	for _, c := range b {
		bad |= uint64(c) | (uint64(c)-0x20)&0x80
	}
	return bad&high == 0
}

// scan reports false where it gives up in favour of the slow way.
func (m *message) scan() (bool, error) {
	s := &scanner{b: m.body, plain: plain(m.body)}
	if !s.next('{') {
		return false, nil
	}
	if s.next('}') {
		return s.end(), nil
	}
	for {
		name, ok := s.name()
		if !ok || !s.next(':') {
			return false, nil
		}
		f := fieldOf(name)
		if f == 0 || m.has&f != 0 {
			return false, nil
		}
		m.has |= f
		if f == fItems {
			ok, err := m.scanItems(s)
			if !ok || err != nil {
				return false, err
			}
		} else if !m.scanField(s, f) {
			return false, nil
		}
		if s.next(',') {
			continue
		}
		return s.next('}') && s.end(), nil
	}
}

func fieldOf(name []byte) fieldSet {
	switch string(name) {
	case "user":
		return fUser
	case "items":
		return fItems
	case "scene":
		return fScene
	case "scope":
		return fScope
	case "max":
		return fMax
	case "at_least":
		return fAtLeast
	case "mark":
		return fMark
	case "deadline_ms":
		return fDeadline
	case "kind":
		return fKind
	case "at":
		return fAt
	}
	return 0
}

func (m *message) text(f fieldSet) *string {
	switch f {
	case fUser:
		return &m.user
	case fScene:
		return &m.scene
	case fScope:
		return &m.scope
	case fMark:
		return &m.mark
	case fKind:
		return &m.kind
	}
	return &m.at
}

func (m *message) number(f fieldSet) *int {
	switch f {
	case fMax:
		return &m.max
	case fAtLeast:
		return &m.atLeast
	case fDeadline:
		return &m.deadlineMS
	}
	return nil
}

func (m *message) scanField(s *scanner, f fieldSet) bool {
	if n := m.number(f); n != nil {
		v, ok := s.int()
		*n = v
		return ok
	}
	v, ok := s.simpleString()
	if ok {
		*m.text(f) = string(v)
	}
	return ok
}

// scanner is a cursor over JSON text.
type scanner struct {
	b     []byte
	i     int
	plain bool
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

func (s *scanner) name() ([]byte, bool) { return s.simpleString() }

// simple says that the inside of a string stands for itself.
func simple(v []byte) bool {
	for _, c := range v {
		if c < 0x20 || c == '\\' {
			return false
		}
	}
	return utf8.Valid(v)
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
	if i == digits || (b[digits] == '0' && i > digits+1) {
		return 0
	}
	if i < len(b) {
		switch b[i] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
		default:
			return 0
		}
	}
	return i
}

// scanItems reads the array of ids: the only part of a request that is long.
func (m *message) scanItems(s *scanner) (bool, error) {
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
		if s.plain && b[s.i] == '"' {
			m.scanStrings(s)
		}
		if len(m.spans) == MaxItems {
			return false, tooLarge("items", "has more than %d ids", MaxItems)
		}
		start := s.i
		if b[start] == '"' && s.plain {
			end := start + 1 + quote(b[start+1:])
			if end >= len(b) {
				return false, nil
			}
			if n := end - start - 1; n == 0 || n > MaxIDBytes {
				return false, idLength(len(m.spans), n)
			}
			m.spans = append(m.spans, span{uint32(start), uint32(end + 1), uint32(start + 1), uint32(end)})
			s.i = end + 1
		} else {
			n := tokenLen(b[start:])
			if n == 0 {
				return false, nil
			}
			if err := m.addToken(start, start+n); err != nil {
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

// scanStrings reads on while strings follow each other with nothing but a comma
// between them, and leaves the last one, or whatever is unusual, to its caller.
func (m *message) scanStrings(s *scanner) {
	const ones, highs, quotes = 0x0101010101010101, 0x8080808080808080, 0x2222222222222222
	b, i := s.b, s.i
	spans := m.spans
	for len(spans) < MaxItems {
		j := i + 1
		for {
			if j+10 > len(b) {
				s.i, m.spans = i, spans
				return
			}
			w := binary.LittleEndian.Uint64(b[j:]) ^ quotes
			if z := (w - ones) &^ w & highs; z != 0 {
				j += bits.TrailingZeros64(z) >> 3
				break
			}
			j += 8
		}
		n := j - i - 1
		if n-1 >= MaxIDBytes || n == 0 || j+2 >= len(b) || binary.LittleEndian.Uint16(b[j+1:]) != ','|'"'<<8 {
			break
		}
		spans = append(spans, span{uint32(i), uint32(j + 1), uint32(i + 1), uint32(j)})
		i = j + 2
	}
	s.i, m.spans = i, spans
}

// quote is the index of the first quote, or len(b).
func quote(b []byte) int {
	const ones, highs, quotes = 0x0101010101010101, 0x8080808080808080, 0x2222222222222222
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:]) ^ quotes
		if z := (w - ones) &^ w & highs; z != 0 {
			return i + bits.TrailingZeros64(z)>>3
		}
	}
	for ; i < len(b); i++ {
		if b[i] == '"' {
			return i
		}
	}
	return len(b)
}

// tokenLen is the length of a string or integer token at the start of b, 0 for
// anything else.
func tokenLen(b []byte) int {
	if b[0] != '"' {
		return numberLen(b)
	}
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			i++
		case c < 0x20:
			return 0
		}
	}
	return 0
}

func idLength(i, n int) error {
	if n == 0 {
		return invalid("items", "id %d is empty", i)
	}
	return tooLarge("items", "id %d has %d bytes, the limit is %d", i, n, MaxIDBytes)
}
