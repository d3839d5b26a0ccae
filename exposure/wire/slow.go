package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"jianguo/internal/must"
)

// decodeSlow decodes any JSON. Unlike encoding/json, package jsontext refuses half a surrogate pair: it names no
// character, and two different ids would become one.
func (q *Query) decodeSlow() error {
	return must.Catch(func() {
		d := jsontext.NewDecoder(bytes.NewBuffer(q.body))
		if d.PeekKind() != '{' {
			must.Do(Invalidf("", "the body is not a JSON object"))
		}
		q.slowFields(d)
		if d.InputOffset() != int64(len(q.body)) {
			must.Do(Invalidf("", "something follows the JSON object of the body"))
		}
	})
}

// wellFormed is what the decoder has read. Package must ends it, and what follows.
func wellFormed[T any](v T, err error) T {
	if err != nil {
		must.Do(malformed(err))
	}
	return v
}

// malformed names the field in which a body is no JSON.
func malformed(err error) error {
	field := ""
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		for field = range bad.JSONPointer.Tokens() {
			break
		}
		// Its own words quote names of the body, such as a user's, and are logged.
		err = fmt.Errorf("%w after byte %d", bad.Err, bad.ByteOffset)
		if bad.Err == jsontext.ErrDuplicateName && slices.Contains(names[:], field) {
			return Invalidf(field, "stands twice in one object")
		}
	}
	if !slices.Contains(names[:], field) {
		return Invalidf("", "the body is not a JSON object in UTF-8: %v", err)
	}
	return Invalidf(field, "is not JSON in UTF-8: %v", err)
}

// slowFields reads the object.
func (q *Query) slowFields(d *jsontext.Decoder) {
	wellFormed(d.ReadToken())
	for d.PeekKind() == '"' {
		name := wellFormed(d.ReadToken())
		bit, value := q.field(name.String())
		if bit == 0 || d.PeekKind() == 'n' {
			wellFormed(d.ReadValue())
			continue
		}
		q.has |= bit
		if value == nil {
			q.slowItems(d)
			continue
		}
		raw, field := wellFormed(d.ReadValue()), names[bits.TrailingZeros16(bit)]
		switch value := value.(type) {
		case *string:
			*value = must.Get(decodeString(field, raw))
		case *int:
			n, err := strconv.ParseInt(string(raw), 10, 32)
			if err != nil {
				must.Do(Invalidf(field, "is %.40s, not an integer of 32 bits", raw))
			}
			*value = int(n)
		}
	}
	wellFormed(d.ReadToken())
}

// slowItems reads the array of ids.
func (q *Query) slowItems(d *jsontext.Decoder) {
	if d.PeekKind() != '[' {
		must.Do(Invalidf("items", "is not an array"))
	}
	wellFormed(d.ReadToken())
	for i := 0; d.PeekKind() != ']'; i++ {
		raw := wellFormed(d.ReadValue())
		if i == MaxItems {
			must.Do(TooLargef("items", "has more than %d ids", MaxItems))
		}
		end := int(d.InputOffset())
		switch start := end - len(raw); {
		case raw.Kind() == '"':
			must.Do(q.addString(start, end))
		case numberLen(raw) == len(raw):
			must.Do(q.addInt(start, end))
		default:
			must.Do(Invalidf("items", "id %d is neither a string nor an integer", i))
		}
	}
	wellFormed(d.ReadToken())
}

// addString adds the id whose token, a string, is body[start:end].
func (q *Query) addString(start, end int) (err error) {
	i, from := len(q.spans), len(q.scratch)
	n := end - start - 2
	if tok := q.body[start:end]; bytes.IndexByte(tok, '\\') < 0 {
		q.spans = append(q.spans, span{uint32(start + 1), uint32(end - 1)})
	} else {
		if q.scratch, err = jsontext.AppendUnquote(q.scratch, tok); err != nil {
			return malformed(err)
		}
		n = len(q.scratch) - from
		q.addOdd(start, end, from)
	}
	if n == 0 || n > MaxIDBytes {
		return idLength(i, n)
	}
	return nil
}

// decodeString decodes the JSON value of a field: a string, or for a user or an item an
// integer, which stands for its decimal text.
func decodeString(field string, raw jsontext.Value) (string, error) {
	if raw.Kind() != '"' {
		if v, err := strconv.ParseInt(string(raw), 10, 64); err == nil && (field == "user" || field == "item") {
			return strconv.FormatInt(v, 10), nil
		}
		return "", Invalidf(field, "is not a string")
	}
	v, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", Invalidf(field, "is not UTF-8, or has half a surrogate pair")
	}
	return string(v), nil
}

// UserOf is the user that a refused event names, or "" where that cannot be read.
func UserOf(data []byte) string {
	var v struct {
		User json.RawMessage `json:"user"`
	}
	if json.Unmarshal(data, &v) != nil || v.User == nil {
		return ""
	}
	user, _ := decodeString("user", jsontext.Value(v.User))
	return user
}
