package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"jianguo/index"
)

// Limits of the wire.
const (
	MaxID   = 256       // bytes of an id
	MaxText = 512 << 10 // bytes of title and body together
	maxMeta = 4 << 10   // bytes of source, url and reason, each
)

// FieldError says which field of a message is wrong, and what it should be.
type FieldError struct {
	Field   string
	Problem string
	// TooLarge says that a limit of size was passed.
	TooLarge bool
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

func tooLarge(field, what string, bytes, most int) *FieldError {
	return &FieldError{Field: field, TooLarge: true,
		Problem: fmt.Sprintf("%s %d bytes, at most %d are taken", what, bytes, most)}
}

// Item is the payload of items.publish.
type Item struct {
	ID        string     `json:"id,omitempty"`
	Title     string     `json:"title"`
	Body      string     `json:"body"` // plain text or HTML
	Source    string     `json:"source,omitempty"`
	URL       string     `json:"url,omitempty"`
	Published *time.Time `json:"published_at,omitempty"`
	Revision  int64      `json:"revision,omitempty"` // 0: none given
}

// Withdrawal is the payload of items.withdraw.
type Withdrawal struct {
	ID       string `json:"id"`
	Mode     string `json:"mode,omitempty"` // ModeBlock (default) or ModePromote
	Reason   string `json:"reason,omitempty"`
	Revision int64  `json:"revision,omitempty"`
}

// The modes of a Withdrawal.
const (
	ModeBlock   = "block"   // later copies are rejected
	ModePromote = "promote" // the oldest copy becomes the lead
)

// payload is a message that is being read. Unknown fields are ignored. The first mistake stays in err, and what is
// read after it is of no use.
type payload struct {
	values map[string]jsontext.Value
	err    *FieldError
}

// refuse notes a field that is wrong.
func (p *payload) refuse(field, problem string, args ...any) {
	if p.err == nil {
		p.err = &FieldError{Field: field, Problem: fmt.Sprintf(problem, args...)}
	}
}

// note keeps the error of a check, a *FieldError.
func (p *payload) note(err error) {
	if f, ok := errors.AsType[*FieldError](err); ok && p.err == nil {
		p.err = f
	}
}

// decodePayload reads the values of a message.
func decodePayload(data []byte) *payload {
	p := new(payload)
	if !utf8.Valid(data) {
		p.refuse("payload", "is not UTF-8")
		return p
	}
	err := json.Unmarshal(data, &p.values, jsontext.AllowInvalidUTF8(true))
	wrong, other := errors.AsType[*json.SemanticError](err)
	switch {
	case other:
		p.refuse("payload", "is a JSON %s, not an object", KindName(wrong.JSONKind))
	case err != nil:
		p.note(MalformedError(err))
	case p.values == nil:
		p.refuse("payload", "is a JSON null, not an object")
	}
	return p
}

// KindName is what a JSON value is called.
func KindName(k jsontext.Kind) string {
	return cmp.Or(map[jsontext.Kind]string{'[': "array", '{': "object", '0': "number"}[k], k.String())
}

// MalformedError says what is wrong where package jsontext finds no object in which each name stands once.
func MalformedError(err error) *FieldError {
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok && bad.Err == jsontext.ErrDuplicateName {
		return &FieldError{Field: fmt.Sprintf("%.60s", cmp.Or(bad.JSONPointer.LastToken(), "payload")),
			Problem: "stands twice in one object"}
	}
	return &FieldError{Field: "payload", Problem: "is not a JSON object: " + err.Error()}
}

// DecodeItem reads a payload of items.publish. Its errors are *FieldError.
func DecodeItem(data []byte) (*Item, error) { return decodeItem(data, true) }

// DecodeDocument reads an item whose id may be missing: for checks.
func DecodeDocument(data []byte) (*Item, error) { return decodeItem(data, false) }

func decodeItem(data []byte, wantsID bool) (*Item, error) {
	p := decodePayload(data)
	it := &Item{
		ID: p.id(wantsID), Title: p.text("title", MaxText), Body: p.text("body", MaxText),
		Source: p.text("source", maxMeta), URL: p.text("url", maxMeta),
		Revision: p.revision(), Published: p.time("published_at"),
	}
	p.note(it.Validate())
	if p.err != nil {
		return nil, p.err
	}
	return it, nil
}

// Validate checks what is not checked while decoding. Its errors are
// *FieldError.
func (it *Item) Validate() error {
	if it.Title == "" && it.Body == "" {
		return &FieldError{Field: "body", Problem: "is empty, and so is the title: there is nothing to compare"}
	}
	if n := len(it.Title) + len(it.Body); n > MaxText {
		return tooLarge("body", "title and body have", n, MaxText)
	}
	return nil
}

// DecodeWithdrawal reads a payload of items.withdraw. Its errors are
// *FieldError.
func DecodeWithdrawal(data []byte) (*index.Withdrawal, error) {
	p := decodePayload(data)
	id, mode := p.id(true), cmp.Or(p.text("mode", maxMeta), ModeBlock)
	if mode != ModeBlock && mode != ModePromote {
		p.refuse("mode", "is %q, want %s or %s", mode, ModeBlock, ModePromote)
	}
	w := &index.Withdrawal{ID: id, Promote: mode == ModePromote, Reason: p.text("reason", maxMeta),
		Revision: p.revision()}
	if p.err != nil {
		return nil, p.err
	}
	return w, nil
}

// value is a field that is given and not null.
func (p *payload) value(name string) (raw jsontext.Value, ok bool) {
	raw = p.values[name]
	return raw, len(raw) > 0 && raw.Kind() != 'n'
}

// id reads an id: text, or an integer, which equals its decimal string.
func (p *payload) id(required bool) string {
	raw, ok := p.value("id")
	if !ok {
		if required {
			p.refuse("id", "is missing")
		}
		return ""
	}
	id, err := ParseID(raw)
	p.note(err)
	return id
}

// ParseID reads an id from JSON: text, or an integer, which equals its decimal
// string. Its errors are *FieldError.
func ParseID(raw jsontext.Value) (id string, err error) {
	if len(raw) > 0 && raw[0] == '"' {
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil && utf8.Valid(raw) {
			return "", &FieldError{Field: "id", Problem: "has half of a surrogate pair, which no text has"}
		}
		return string(text), CheckID(string(text))
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return "", &FieldError{Field: "id", Problem: "is neither text nor a 64-bit integer"}
	}
	return strconv.FormatInt(n, 10), nil
}

// CheckID checks an id's length and characters. Its errors are *FieldError.
func CheckID(id string) error {
	switch {
	case id == "":
		return &FieldError{Field: "id", Problem: "is empty"}
	case len(id) > MaxID:
		return tooLarge("id", "has", len(id), MaxID)
	case !utf8.ValidString(id):
		return &FieldError{Field: "id", Problem: "is not UTF-8"}
	}
	for _, r := range id {
		if unicode.IsControl(r) {
			return &FieldError{Field: "id", Problem: fmt.Sprintf("has the control character U+%04X", r)}
		}
	}
	return nil
}

// text reads an optional text. Half of a surrogate pair becomes U+FFFD: texts that were
// cut in the middle of an emoji are common, and nothing else of them is lost.
func (p *payload) text(name string, limit int) string {
	raw, ok := p.value(name)
	if !ok {
		return ""
	}
	if raw.Kind() != '"' {
		p.refuse(name, "is not text")
		return ""
	}
	// The value is valid JSON already. The only error left is half of a surrogate pair.
	s, _ := jsontext.AppendUnquote(make([]byte, 0, len(raw)), raw)
	if len(s) > limit {
		p.note(tooLarge(name, "has", len(s), limit))
	}
	return string(s)
}

func (p *payload) revision() int64 {
	raw, ok := p.value("revision")
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		p.refuse("revision", "is %.40s, want an integer from 0 to %d", raw, int64(math.MaxInt64))
	}
	return n
}

func (p *payload) time(name string) *time.Time {
	s := p.text(name, 64)
	if s == "" {
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s)) // t and z are RFC 3339 too
	if err != nil {
		p.refuse(name, "is %q, want RFC 3339 as in 2026-01-02T15:04:05+08:00", s)
	} else if y := t.UTC().Year(); y < 0 || y > 9999 { // cannot be written as JSON
		p.refuse(name, "is %q, in UTC not between the years 0 and 9999", s)
	}
	return &t
}
