// Package wire reads requests and reports about a user's items, and writes the answers.
//
// A Query is a decoded body: a user, a few settings, and ids that are spans of the body, not
// copies. Query.Keys hashes the ids under a seed of the user. Whatever tests the keys answers
// with a byte an id (the marks of package kernel), from which Answer lists the ids to
// return and writes them as JSON, copied from the body as they were spelled, or as a bitmap.
//
// The list of ids is read by a scanner that finds 5,000 of them some twenty times faster than
// encoding/json, and the rest of the body by package jsontext. The scanner handles lists as clients usually send
// them. Those of a body with anything else (escapes, white space but blanks, broken text) are read by package jsontext
// as well, which decides. FuzzDecode holds both to encoding/json.
//
// On processors with AVX2 and BMI2, ids are found and hashed in assembly. On others, and with
// the build tag purego, plain Go does the same; FuzzQuotes and TestVectorIsPlain hold the
// two together.
package wire

import "slices"

// Query is a decoded request or report. The zero value is ready to decode into, and may be
// used again: it keeps its memory.
type Query struct {
	User, Scene, Scope, Mark, Kind, At, From string
	Item, For, Reason                        string // of requests to explain or to trace
	Max, AtLeast, DeadlineMS, Adds           int
	HasItems                                 bool // there was a list of ids at all

	body    []byte   // as it came
	scratch []byte   // decoded bytes of odd ids
	quotes  quoteMap // where the quotes of body are
	spans   []span
	odd     []oddSpan
}

// quoteMap is where the quotes of a body are: bit i%64 of word i/64 for byte i. A
// body of five thousand ids has ten thousand of them, and looking for each by itself
// takes longer than anything else that is done with its id.
type quoteMap []uint64

// names are the fields of a body.
var names = [...]string{"items", "user", "scene", "scope", "mark", "kind", "at", "from", "item", "for", "reason",
	"max", "at_least", "deadline_ms", "adds"}

// field returns the name of a field, and where its value goes: a *string, an *int, for the list of ids a *bool, or nil
// for an unknown one.
func (q *Query) field(name string) (field string, value any) {
	i := slices.Index(names[:], name)
	if i < 0 {
		return "", nil
	}
	values := [len(names)]any{&q.HasItems, &q.User, &q.Scene, &q.Scope, &q.Mark, &q.Kind, &q.At, &q.From, &q.Item,
		&q.For, &q.Reason, &q.Max, &q.AtLeast, &q.DeadlineMS, &q.Adds}
	return names[i], values[i]
}

// span is one id: its decoded bytes in Query.body, between the quotes of its token. With
// isOdd set in from, it is a number in Query.odd instead.
type span struct{ from, to uint32 }

const isOdd = 1 << 31

// oddSpan is an id whose decoded bytes are not its token without the quotes: an integer, or
// a string with escapes. Its token is in Query.body, its decoded bytes are in Query.scratch.
type oddSpan struct{ raw0, raw1, id0, id1 uint32 }

func (q *Query) reset(body []byte) {
	*q = Query{body: body, scratch: q.scratch[:0], quotes: q.quotes, spans: q.spans[:0], odd: q.odd[:0]}
}

// Clear makes q a query without ids, to which Add adds copies of some.
func (q *Query) Clear() { q.reset(q.body[:0]) }

func (q *Query) Add(id string) {
	from := uint32(len(q.body))
	q.body = append(q.body, id...)
	q.spans = append(q.spans, span{from, uint32(len(q.body))})
}

func (q *Query) Len() int { return len(q.spans) }

// ID is the decoded bytes of an id, valid until the query or its body changes.
func (q *Query) ID(i int) []byte {
	sp := q.spans[i]
	if sp.from&isOdd != 0 {
		o := &q.odd[sp.from&^isOdd]
		return q.scratch[o.id0:o.id1]
	}
	return q.body[sp.from:sp.to]
}

func (q *Query) IDs() []string {
	out := make([]string, len(q.spans))
	for i := range out {
		out[i] = string(q.ID(i))
	}
	return out
}

// token is the position in the body of an id as it came, quotes included.
func (q *Query) token(i uint32) (from, to uint32) {
	sp := q.spans[i]
	if sp.from&isOdd != 0 {
		o := &q.odd[sp.from&^isOdd]
		return o.raw0, o.raw1
	}
	return sp.from - 1, sp.to + 1
}

// addOdd adds an id whose decoded bytes are those of scratch from id0 on.
func (q *Query) addOdd(raw0, raw1, id0 int) {
	q.spans = append(q.spans, span{from: uint32(len(q.odd)) | isOdd})
	q.odd = append(q.odd, oddSpan{uint32(raw0), uint32(raw1), uint32(id0), uint32(len(q.scratch))})
}
