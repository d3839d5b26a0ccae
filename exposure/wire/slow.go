package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
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
		var err error
		if q.scratch, err = jsontext.AppendUnquote(q.scratch, tok); err != nil {
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

// decodeSlow decodes with encoding/json. Ids stay tokens: their text is read by the code
// that the scanner uses.
func (q *Query) decodeSlow(body []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return Malformedf("", "the body is not a JSON object: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) { // errors come in a fixed order
		raw := fields[name]
		bit, value := q.field(name)
		if bit == 0 || string(raw) == "null" {
			continue
		}
		q.has |= bit
		var err error
		switch value := value.(type) {
		case *string:
			*value, err = DecodeString(name, raw)
		case *int:
			*value, err = decodeInt(name, raw)
		default:
			err = q.slowItems(raw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func decodeInt(field string, tok []byte) (int, error) {
	v, err := strconv.ParseInt(string(tok), 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, Invalidf(field, "is %.40s, out of the range of 32 bits", tok)
	case err != nil:
		return 0, Invalidf(field, "is not an integer")
	}
	return int(v), nil
}

// DecodeString decodes the JSON value of a field: a string, or for a user or an item an
// integer, which stands for its decimal text.
func DecodeString(field string, tok []byte) (string, error) {
	if tok[0] != '"' {
		if v, err := strconv.ParseInt(string(tok), 10, 64); err == nil && (field == "user" || field == "item") {
			return strconv.FormatInt(v, 10), nil
		}
		return "", Invalidf(field, "is not a string")
	}
	if !utf8.Valid(tok) {
		return "", Malformedf(field, "is not UTF-8")
	}
	// Unlike encoding/json, this refuses half a surrogate pair: it names no character, and
	// two different ids would become one.
	v, err := jsontext.AppendUnquote(nil, tok)
	if err != nil {
		return "", Malformedf(field, "has half a surrogate pair")
	}
	return string(v), nil
}

// slowItems copies the tokens of an array, which is well-formed, into a new body, so that
// spans mean the same as after a scan.
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

// UserOf is the user that a refused event names, or "" where that cannot be read.
func UserOf(data []byte) string {
	var v struct {
		User json.RawMessage `json:"user"`
	}
	if json.Unmarshal(data, &v) != nil || v.User == nil {
		return ""
	}
	user, err := DecodeString("user", v.User)
	if err != nil {
		return ""
	}
	return user
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
