package exposure

import (
	"bytes"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// span is one id of a request: its decoded bytes in message.body, between quotes
// that belong to the token to answer with. With isOdd set in from, it is one of
// message.odd instead.
type span struct{ from, to uint32 }

const isOdd = 1 << 31

// oddSpan is an id that is not its token without the quotes: an integer, or a string
// with escapes. Its token is in message.body, its decoded bytes in message.scratch.
type oddSpan struct{ raw0, raw1, id0, id1 uint32 }

// message is a decoded request or event. It is pooled; its slices are reused.
type message struct {
	body    []byte
	scratch []byte
	quotes  quoteMap
	spans   []span
	odd     []oddSpan
	keys    []uint32
	marks   []byte
	order   []uint32
	answer  []uint32 // span numbers of what is answered
	seen    []uint16 // open-addressing set of span numbers + 1, to find repeats
	// bits of keys that some, and that more than one, of those to be answered have
	once, twice bitmap
	shared      []uint32 // numbers in a list, of ids that may have a repeat
	room        viewRoom // for the view of a user nobody has asked for lately

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
	m.body, m.scratch, m.spans, m.odd, m.keys = body, m.scratch[:0], m.spans[:0], m.odd[:0], m.keys[:0]
	m.marks, m.order, m.answer = m.marks[:0], m.order[:0], m.answer[:0]
	m.user, m.scene, m.scope, m.mark, m.kind, m.at = "", "", "", "", "", ""
	m.max, m.atLeast, m.deadlineMS, m.has = 0, 0, 0, 0
}

// id is the decoded bytes of an id.
func (m *message) id(i int) []byte {
	sp := m.spans[i]
	if sp.from&isOdd != 0 {
		o := &m.odd[sp.from&^isOdd]
		return m.scratch[o.id0:o.id1]
	}
	return m.body[sp.from:sp.to]
}

// token is where in the body an id is as it came, quotes and all.
func (m *message) token(i int) (from, to uint32) {
	sp := m.spans[i]
	if sp.from&isOdd != 0 {
		o := &m.odd[sp.from&^isOdd]
		return o.raw0, o.raw1
	}
	return sp.from - 1, sp.to + 1
}

// addOdd adds an id whose decoded bytes are those of scratch from id0 on.
func (m *message) addOdd(raw0, raw1, id0 int) {
	m.spans = append(m.spans, span{from: uint32(len(m.odd)) | isOdd})
	m.odd = append(m.odd, oddSpan{uint32(raw0), uint32(raw1), uint32(id0), uint32(len(m.scratch))})
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

// scan reports false where it gives up in favour of the slow way.
func (m *message) scan() (bool, error) {
	s := &scanner{b: m.body, plain: m.quotes.read(m.body)}
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
	tries int // of scanVector, which looks at all the rest each time
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
			end := m.quotes.next(start + 1)
			if end < 0 {
				return false, nil
			}
			if n := end - start - 1; n == 0 || n > MaxIDBytes {
				return false, idLength(len(m.spans), n)
			}
			m.spans = append(m.spans, span{uint32(start + 1), uint32(end)})
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

// scanStrings reads on while strings follow each other with nothing but a comma, or
// a comma and a space, between them, and leaves the last one, or whatever is unusual,
// to its caller.
func (m *message) scanStrings(s *scanner) {
	if s.tries++; s.tries <= 4 {
		s.i = m.scanVector(s.i)
	}
	b, q, spans, i := s.b, m.quotes, m.spans, s.i
	defer func() { s.i, m.spans = i, spans }()
	w := i >> 6
	x := q[w] >> (i & 63) << (i & 63) // quotes not yet passed of word w
	x &= x - 1                        // the one at i opens the first string
	for len(spans) < MaxItems {
		for x == 0 {
			if w++; w == len(q) {
				return
			}
			x = q[w]
		}
		end := w<<6 + bits.TrailingZeros64(x)
		x &= x - 1
		for x == 0 {
			if w++; w == len(q) {
				return
			}
			x = q[w]
		}
		open := w<<6 + bits.TrailingZeros64(x)
		x &= x - 1
		gap := open - end
		if uint(end-i-2) >= MaxIDBytes || b[end+1] != ',' || gap != 2 && (gap != 3 || b[end+2] != ' ') {
			return
		}
		spans = append(spans, span{uint32(i + 1), uint32(end)})
		i = open
	}
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
