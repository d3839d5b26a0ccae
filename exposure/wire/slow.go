package wire

import (
	"bytes"
	"encoding/json"
	"errors"
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
	// A struct, so that field names match as encoding/json matches them.
	var slow struct {
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
		From       *json.RawMessage `json:"from"`
	}
	if err := json.Unmarshal(body, &slow); err != nil {
		return Malformedf("", "the body is not a JSON object: %v", err)
	}
	for _, f := range []struct {
		name string
		raw  *json.RawMessage
	}{
		{"user", slow.User}, {"scene", slow.Scene}, {"scope", slow.Scope}, {"mark", slow.Mark}, {"kind", slow.Kind}, {"at", slow.At}, {"from", slow.From},
		{"max", slow.Max}, {"at_least", slow.AtLeast}, {"deadline_ms", slow.DeadlineMS},
	} {
		if f.raw == nil {
			continue
		}
		bit, text, number := q.field(f.name)
		q.has |= bit
		var err error
		if text != nil {
			*text, err = DecodeString(f.name, *f.raw)
		} else {
			*number, err = decodeInt(f.name, *f.raw)
		}
		if err != nil {
			return err
		}
	}
	if slow.Items == nil {
		return nil
	}
	q.has |= fItems
	return q.slowItems(*slow.Items)
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
