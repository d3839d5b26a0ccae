package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// addToken adds the id whose token, string or integer, is body[start:end].
func (q *Query) addToken(start, end int) error {
	i := len(q.spans)
	tok := q.body[start:end]
	from := len(q.scratch)
	if tok[0] != '"' {
		v, err := strconv.ParseInt(string(tok), 10, 64)
		if err != nil {
			return Invalidf("items", "id %d is a number, but not one of 64 bits", i)
		}
		q.scratch = strconv.AppendInt(q.scratch, v, 10)
		q.addOdd(start, end, from)
		return nil
	}
	inside := tok[1 : len(tok)-1]
	if !utf8.Valid(inside) {
		return Malformedf("items", "id %d is not UTF-8", i)
	}
	n := len(inside)
	if bytes.IndexByte(inside, '\\') < 0 {
		q.spans = append(q.spans, span{uint32(start + 1), uint32(end - 1)})
	} else {
		var ok bool
		if q.scratch, ok = unescape(q.scratch, inside); !ok {
			return Malformedf("items", "id %d has a bad escape or half a surrogate pair", i)
		}
		n = len(q.scratch) - from
		q.addOdd(start, end, from)
	}
	if n == 0 || n > MaxIDBytes {
		return idLength(i, n)
	}
	return nil
}

// unescape decodes the inside of a JSON string, refusing what encoding/json mends:
// half a surrogate pair names no character, so two different ids would become one.
func unescape(dst, s []byte) ([]byte, bool) {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			dst = append(dst, s[i])
			continue
		}
		i++
		if i == len(s) {
			return dst, false
		}
		switch c := s[i]; c {
		case '"', '\\', '/':
			dst = append(dst, c)
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, ok := hex4(s[i+1:])
			i += 4
			if ok && utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+2 < len(s) && s[i+1] == '\\' && s[i+2] == 'u' {
					low, ok = hex4(s[i+3:])
					i += 6
				}
				r = utf16.DecodeRune(r, low)
				ok = ok && r != utf8.RuneError
			}
			if !ok {
				return dst, false
			}
			dst = utf8.AppendRune(dst, r)
		default:
			return dst, false
		}
	}
	return dst, true
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|32 >= 'a' && c|32 <= 'f':
			c = c | 32 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// slowMessage is what encoding/json fills in. Ids stay tokens: their text is read
// by the same code as on the fast way.
type slowMessage struct {
	User       *json.RawMessage `json:"user"`
	Items      *json.RawMessage `json:"items"`
	Scene      *json.RawMessage `json:"scene"`
	Scope      *json.RawMessage `json:"scope"`
	Max        *json.RawMessage `json:"max"`
	AtLeast    *json.RawMessage `json:"at_least"`
	Mark       *json.RawMessage `json:"mark"`
	DeadlineMS *json.RawMessage `json:"deadline_ms"`
	Kind       *json.RawMessage `json:"kind"`
	At         *json.RawMessage `json:"at"`
}

func (q *Query) decodeSlow(body []byte) error {
	var slow slowMessage
	if err := json.Unmarshal(body, &slow); err != nil {
		return Malformedf("", "the body is not a JSON object: %v", err)
	}
	fields := []struct {
		f    fieldSet
		name string
		raw  *json.RawMessage
	}{
		{fUser, "user", slow.User}, {fScene, "scene", slow.Scene}, {fScope, "scope", slow.Scope},
		{fMark, "mark", slow.Mark}, {fKind, "kind", slow.Kind}, {fAt, "at", slow.At},
		{fMax, "max", slow.Max}, {fAtLeast, "at_least", slow.AtLeast}, {fDeadline, "deadline_ms", slow.DeadlineMS},
	}
	for _, f := range fields {
		if f.raw == nil {
			continue
		}
		q.has |= f.f
		tok := []byte(*f.raw)
		if n := q.number(f.f); n != nil {
			v, err := strconv.ParseInt(string(tok), 10, 32)
			switch {
			case errors.Is(err, strconv.ErrRange):
				return Invalidf(f.name, "is %.40s, out of the range of 32 bits", tok)
			case err != nil:
				return Invalidf(f.name, "is not an integer")
			}
			*n = int(v)
			continue
		}
		v, err := DecodeString(f.name, tok)
		if err != nil {
			return err
		}
		*q.text(f.f) = v
	}
	if slow.Items == nil {
		return nil
	}
	q.has |= fItems
	return q.slowItems(*slow.Items)
}

// DecodeString decodes the JSON value of a field: a string, or for a user an integer, which
// stands for its decimal text.
func DecodeString(field string, tok []byte) (string, error) {
	if tok[0] != '"' {
		if v, err := strconv.ParseInt(string(tok), 10, 64); err == nil && field == "user" {
			return strconv.FormatInt(v, 10), nil
		}
		return "", Invalidf(field, "is not a string")
	}
	if !utf8.Valid(tok) {
		return "", Malformedf(field, "is not UTF-8")
	}
	v, ok := unescape(nil, tok[1:len(tok)-1])
	if !ok {
		return "", Malformedf(field, "has half a surrogate pair")
	}
	return string(v), nil
}

// slowItems moves the tokens of an array, known to be well-formed, into a body of
// their own, so that spans mean the same on both ways.
func (q *Query) slowItems(raw []byte) error {
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return Invalidf("items", "is not an array")
	}
	if len(items) > MaxItems {
		return TooLargef("items", "has more than %d ids", MaxItems)
	}
	q.body = make([]byte, 0, len(raw))
	for i, tok := range items {
		if tok[0] != '"' && numberLen(tok) == 0 {
			return Invalidf("items", "id %d is neither a string nor an integer", i)
		}
		if i > 0 {
			q.body = append(q.body, ',')
		}
		start := len(q.body)
		q.body = append(q.body, tok...)
		if err := q.addToken(start, len(q.body)); err != nil {
			return err
		}
	}
	return nil
}
