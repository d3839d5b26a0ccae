package wire

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// IsPacked reports whether a body is a packed request; no JSON begins so.
func IsPacked(body []byte) bool { return len(body) >= 4 && string(body[:4]) == "JGF1" }

// DecodePacked reads a packed request, for clients that do not build JSON; examples/README.md describes its
// bytes. The query does not refer to b.
func (q *Query) DecodePacked(b []byte) error {
	const packedHeader = 28
	q.reset(nil)
	le := binary.LittleEndian
	if len(b) < packedHeader || !IsPacked(b) {
		return Malformedf("", "a packed request begins with JGF1 and has a header of %d bytes", packedHeader)
	}
	kind, flags := b[4], b[5]
	user, scene, n := int(le.Uint16(b[6:])), int(le.Uint16(b[8:])), int(le.Uint32(b[12:]))
	switch {
	case kind != 1 && kind != 2:
		return Invalidf("kind", "is %d: 1 for int64 ids, 2 for bytes", kind)
	case flags&^1 != 0 || le.Uint16(b[10:]) != 0:
		return Invalidf("flags", "has bits this server does not know")
	case n > MaxItems:
		return TooLargef("items", "has %d ids, the limit is %d", n, MaxItems)
	}
	for _, f := range []struct {
		at   int
		name string
		to   *int
	}{{16, "max", &q.Max}, {20, "at_least", &q.AtLeast}, {24, "deadline_ms", &q.DeadlineMS}} {
		v := le.Uint32(b[f.at:])
		if v > 1<<31-1 {
			return Invalidf(f.name, "is %d, more than an int32 holds", v)
		}
		*f.to = int(v)
	}
	if flags&1 != 0 {
		q.Mark = "delivered"
	}
	q.has |= hasItems
	rest := b[packedHeader:]
	if len(rest) < user+scene {
		return Malformedf("", "the request ends inside its header")
	}
	q.User, q.Scene = string(rest[:user]), string(rest[user:user+scene])
	if !utf8.ValidString(q.User) || !utf8.ValidString(q.Scene) {
		return Malformedf("user", "user and scene are not both UTF-8")
	}
	if kind == 1 {
		return q.packedInts(rest[user+scene:], n)
	}
	return q.packedBytes(rest[user+scene:], n)
}

// packedInts spells the ids out as a JSON array would have, to answer from.
func (q *Query) packedInts(b []byte, n int) error {
	if len(b) != 8*n {
		return Malformedf("items", "%d ids take %d bytes, there are %d", n, 8*n, len(b))
	}
	body := make([]byte, 0, 21*n)
	for i := 0; i < n; i++ {
		if i > 0 {
			body = append(body, ',')
		}
		start, from := len(body), len(q.scratch)
		body = strconv.AppendInt(body, int64(binary.LittleEndian.Uint64(b[8*i:])), 10)
		q.scratch = append(q.scratch, body[start:]...)
		q.addOdd(start, len(body), from)
	}
	q.body = body
	return nil
}

func (q *Query) packedBytes(b []byte, n int) error {
	body := make([]byte, 0, len(b)+2*n)
	for i := 0; i < n; i++ {
		if len(b) < 2 || len(b) < 2+int(binary.LittleEndian.Uint16(b)) {
			return Malformedf("items", "the request ends inside id %d", i)
		}
		size := int(binary.LittleEndian.Uint16(b))
		id := b[2 : 2+size]
		b = b[2+size:]
		if size == 0 || size > MaxIDBytes {
			return idLength(i, size)
		}
		if !utf8.Valid(id) {
			return Malformedf("items", "id %d is not UTF-8", i)
		}
		if i > 0 {
			body = append(body, ',')
		}
		start, from := len(body), len(q.scratch)
		body = AppendString(body, id)
		q.scratch = append(q.scratch, id...)
		q.addOdd(start, len(body), from)
	}
	if len(b) != 0 {
		return Malformedf("items", "%d bytes follow the last id", len(b))
	}
	q.body = body
	return nil
}
