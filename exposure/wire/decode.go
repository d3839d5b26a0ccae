package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"jianguo/internal/must"
)

// Decode reads a JSON request or report. The query refers to the body until it is decoded
// into again.
func (q *Query) Decode(body []byte) error {
	body = bytes.TrimSpace(body)
	q.reset(body)
	if from, to, ok := q.scanItems(); ok && q.decode(slices.Concat(body[:from], []byte("[]"), body[to:]), from) == nil {
		return nil
	}
	q.reset(body)
	return q.decode(body, -1)
}

// decode reads a body. Unless scanned is negative, the list of ids that stood there has been read, and an empty one has
// its place.
// Unlike encoding/json, package jsontext refuses half a surrogate pair: it names no character, and two
// different ids would become one.
func (q *Query) decode(body []byte, scanned int) error {
	return must.Catch(func() {
		d := jsontext.NewDecoder(bytes.NewBuffer(body))
		if d.PeekKind() != '{' {
			must.Do(Invalidf("", "the body is not a JSON object"))
		}
		q.fields(d, scanned)
		if d.InputOffset() != int64(len(body)) {
			must.Do(Invalidf("", "something follows the JSON object of the body"))
		}
	})
}

// wellFormed is what the decoder has read. It and what follows panic on errors (must).
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

func (q *Query) fields(d *jsontext.Decoder, scanned int) {
	var text [64]byte
	wellFormed(d.ReadToken())
	for d.PeekKind() == '"' {
		name, _ := jsontext.AppendUnquote(text[:0], wellFormed(d.ReadValue())) // which has been checked
		field, value := q.field(string(name))
		if has, ok := value.(*bool); ok && d.PeekKind() != 'n' {
			*has = true
			q.items(d, scanned)
			continue
		}
		raw := wellFormed(d.ReadValue())
		if raw.Kind() == 'n' {
			continue
		}
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
	if scanned >= 0 && !q.HasItems {
		must.Do(errors.New("a list of another object has been read"))
	}
}

// items reads the array of ids, or passes the one that has been read.
func (q *Query) items(d *jsontext.Decoder, scanned int) {
	if scanned >= 0 {
		if raw := wellFormed(d.ReadValue()); int(d.InputOffset())-len(raw) != scanned {
			must.Do(errors.New("another list of ids has been read"))
		}
		return
	}
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
	switch {
	case n == 0:
		return Invalidf("items", "id %d is empty", i)
	case n > MaxIDBytes:
		return TooLargef("items", "id %d has %d bytes, the limit is %d", i, n, MaxIDBytes)
	}
	return nil
}

// decodeString decodes the JSON value of a field: a string, or for users and an item an
// integer, which stands for its decimal text.
func decodeString(field string, raw jsontext.Value) (string, error) {
	if raw.Kind() != '"' {
		if !slices.Contains([]string{"user", "from", "item"}, field) {
			return "", Invalidf(field, "is not a string")
		}
		v, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return "", Invalidf(field, "is neither a string nor an integer of 64 bits")
		}
		return strconv.FormatInt(v, 10), nil
	}
	var text [64]byte
	v, err := jsontext.AppendUnquote(text[:0], raw)
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
