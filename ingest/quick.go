package ingest

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// quickItem reads the payload that nearly all are: one object of strings and
// integers under the names of Item, and strings under others, in one pass.
// false: it is not so simple, or not right, and DecodeItem's long way says
// which.
func quickItem(data []byte) (*Item, bool) {
	if !utf8.Valid(data) {
		return nil, false
	}
	q := &quick{data: data}
	it := new(Item)
	if !q.skip('{') {
		return nil, false
	}
	var seen [quickFields]bool
	for {
		name, ok := q.text()
		if !ok || !q.skip(':') {
			return nil, false
		}
		if field, known := quickField(name); !known {
			if _, ok := q.text(); !ok {
				return nil, false
			}
		} else if seen[field] || !q.value(it, field) {
			return nil, false
		} else {
			seen[field] = true
		}
		if q.skip(',') {
			continue
		}
		if !q.skip('}') || q.space() != 0 || CheckID(it.ID) != nil || it.Validate() != nil {
			return nil, false
		}
		return it, true
	}
}

const quickFields = 7

func quickField(name string) (number int, ok bool) {
	switch name {
	case "id":
		return 0, true
	case "title":
		return 1, true
	case "body":
		return 2, true
	case "source":
		return 3, true
	case "url":
		return 4, true
	case "published_at":
		return 5, true
	case "revision":
		return 6, true
	}
	return 0, false
}

type quick struct {
	data []byte
	at   int
}

// space passes over blanks and returns what comes then, 0 at the end.
func (q *quick) space() byte {
	for ; q.at < len(q.data); q.at++ {
		switch c := q.data[q.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (q *quick) skip(c byte) bool {
	if q.space() != c {
		return false
	}
	q.at++
	return true
}

func (q *quick) value(it *Item, field int) bool {
	if field == 6 {
		from := q.at
		for q.space(); q.at < len(q.data) && q.data[q.at]-'0' < 10; q.at++ {
		}
		digits := strings.TrimSpace(string(q.data[from:q.at]))
		n, err := strconv.ParseInt(digits, 10, 64)
		it.Revision = n
		return err == nil && (len(digits) == 1 || digits[0] != '0')
	}
	s, ok := q.text()
	if !ok {
		return false
	}
	switch field {
	case 0:
		it.ID = s
	case 1:
		it.Title = s
	case 2:
		it.Body = s
	case 3:
		it.Source = s
		return len(s) <= maxMeta
	case 4:
		it.URL = s
		return len(s) <= maxMeta
	case 5:
		t, err := time.Parse(time.RFC3339Nano, s)
		it.Published = &t
		return err == nil && len(s) <= 64
	}
	return len(s) <= MaxText
}

// plain is how many bytes of b come before the first that means something in
// a string: a quote, a backslash, a control character.
func plain(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^ones*'"', x^ones*'\\'
		// The high bit of each byte that is below ' ', or was the same; a borrow
		// spoils only bytes after the first.
		if m := ((x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// text reads a string; false where it is none, or has half of a surrogate
// pair.
func (q *quick) text() (string, bool) {
	if !q.skip('"') {
		return "", false
	}
	from := q.at
	if q.at += plain(q.data[from:]); q.at == len(q.data) {
		return "", false
	}
	if q.data[q.at] == '"' {
		q.at++
		return string(q.data[from : q.at-1]), true
	}
	return q.escaped(from)
}

// escaped goes on with a string that began at from, at its first backslash.
func (q *quick) escaped(from int) (string, bool) {
	// What is unescaped is no longer than what is read, and mostly the value
	// ends where the payload does.
	out := append(make([]byte, 0, len(q.data)-from), q.data[from:q.at]...)
	for q.at < len(q.data) {
		switch c := q.data[q.at]; {
		case c == '"':
			q.at++
			return unsafe.String(unsafe.SliceData(out), len(out)), true // out is not used again
		case c == '\\':
			var ok bool
			if out, ok = q.escape(out); !ok {
				return "", false
			}
		case c < ' ':
			return "", false
		}
		n := plain(q.data[q.at:])
		out = append(out, q.data[q.at:q.at+n]...)
		q.at += n
	}
	return "", false
}

// escape appends what the escape at q.at stands for.
func (q *quick) escape(out []byte) ([]byte, bool) {
	if q.at++; q.at == len(q.data) {
		return out, false
	}
	if i := strings.IndexByte(`"\/bfnrt`, q.data[q.at]); i >= 0 {
		q.at++
		return append(out, "\"\\/\b\f\n\r\t"[i]), true
	}
	r := q.unit()
	if utf16.IsSurrogate(r) {
		if q.at >= len(q.data) || q.data[q.at] != '\\' {
			return out, false
		}
		q.at++
		if r = utf16.DecodeRune(r, q.unit()); r == utf8.RuneError {
			return out, false
		}
	}
	return utf8.AppendRune(out, r), r >= 0
}

// unit reads u and four hexadecimal digits; -1 where something else stands
// there.
func (q *quick) unit() rune {
	if q.at+5 > len(q.data) || q.data[q.at] != 'u' {
		return -1
	}
	r := escaped(q.data[q.at+1:])
	q.at += 5
	return r
}
