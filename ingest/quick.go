package ingest

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"
)

// quickItem reads the payload that nearly all are: one object of strings and
// integers under the names of Item, in one pass. false: it is not so simple,
// or not right, and DecodeItem's long way says which.
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
		field, known := quickField(name)
		if !known || seen[field] || !q.value(it, field) {
			return nil, false
		}
		seen[field] = true
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

// text reads a string; false where it has a \u escape or is no string.
func (q *quick) text() (string, bool) {
	if !q.skip('"') {
		return "", false
	}
	from := q.at
	for ; q.at < len(q.data); q.at++ {
		switch c := q.data[q.at]; {
		case c == '"':
			q.at++
			return string(q.data[from : q.at-1]), true
		case c == '\\':
			return q.escaped(from)
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

// escaped goes on with a string that began at from, at its first backslash.
func (q *quick) escaped(from int) (string, bool) {
	out := append(make([]byte, 0, len(q.data)-from), q.data[from:q.at]...)
	for q.at < len(q.data) {
		switch c := q.data[q.at]; {
		case c == '"':
			q.at++
			return unsafe.String(unsafe.SliceData(out), len(out)), true // out is not used again
		case c == '\\':
			if q.at++; q.at == len(q.data) {
				return "", false
			}
			i := strings.IndexByte(`"\/bfnrt`, q.data[q.at])
			if i < 0 {
				return "", false
			}
			out = append(out, "\"\\/\b\f\n\r\t"[i])
			q.at++
		case c < ' ':
			return "", false
		default:
			run := q.at
			for q.at < len(q.data) && q.data[q.at] >= ' ' && q.data[q.at] != '"' && q.data[q.at] != '\\' {
				q.at++
			}
			out = append(out, q.data[run:q.at]...)
		}
	}
	return "", false
}
