package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"jianguo/internal/must"
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

// object is a payload that is being read. Unknown fields are ignored, and of a name given twice the
// last value counts. Its methods end at the first mistake (package must), a *FieldError.
type object map[string]jsontext.Value

// Refuse ends what reads a field that is wrong, with a *FieldError.
func Refuse(field, problem string, args ...any) {
	must.Do(&FieldError{Field: field, Problem: fmt.Sprintf(problem, args...)})
}

// TooLarge is Refuse where a limit of size is passed.
func TooLarge(field, problem string, args ...any) {
	must.Do(&FieldError{Field: field, Problem: fmt.Sprintf(problem, args...), TooLarge: true})
}

// decodeObject reads the values in one pass, where encoding/json needs two.
func decodeObject(data []byte) object {
	if !utf8.Valid(data) {
		Refuse("payload", "is not UTF-8")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	token := func() jsontext.Token {
		t, err := d.ReadToken()
		if err != nil {
			Refuse("payload", "is not a JSON object: %v", err)
		}
		return t
	}
	if kind := token().Kind(); kind != '{' {
		Refuse("payload", "is a JSON %s, not an object", cmp.Or(map[jsontext.Kind]string{'[': "array", '0': "number"}[kind], kind.String()))
	}
	o := object{}
	for d.PeekKind() == '"' {
		key := token().String()
		value, err := d.ReadValue()
		if err != nil {
			Refuse("payload", "is not a JSON object: %v", err)
		}
		o[key] = value
	}
	token() // the end of the object
	if _, err := d.ReadToken(); err != io.EOF {
		Refuse("payload", "is not a JSON object: %v", cmp.Or(err, errors.New("there is more behind it")))
	}
	return o
}

// DecodeItem reads a payload of items.publish. Its errors are *FieldError.
func DecodeItem(data []byte) (*Item, error) { return decodeItem(data, true) }

// DecodeDocument reads an item whose id may be missing: for checks.
func DecodeDocument(data []byte) (*Item, error) { return decodeItem(data, false) }

func decodeItem(data []byte, wantsID bool) (*Item, error) {
	return must.Try(func() *Item {
		o := decodeObject(data)
		it := &Item{ID: o.id(wantsID), Title: o.text("title", MaxText), Body: o.text("body", MaxText), Source: o.text("source", maxMeta),
			URL: o.text("url", maxMeta), Revision: o.revision(), Published: o.time("published_at")}
		must.Do(it.Validate())
		return it
	})
}

// Validate checks what is not checked while decoding. Its errors are
// *FieldError.
func (it *Item) Validate() error {
	if it.Title == "" && it.Body == "" {
		return &FieldError{Field: "body", Problem: "is empty, and so is the title: there is nothing to compare"}
	}
	if n := len(it.Title) + len(it.Body); n > MaxText {
		return &FieldError{Field: "body", Problem: fmt.Sprintf("title and body have %d bytes, at most %d are taken", n, MaxText), TooLarge: true}
	}
	return nil
}

// DecodeWithdrawal reads a payload of items.withdraw. Its errors are
// *FieldError.
func DecodeWithdrawal(data []byte) (*Withdrawal, error) {
	return must.Try(func() *Withdrawal {
		o := decodeObject(data)
		w := &Withdrawal{ID: o.id(true), Mode: cmp.Or(o.text("mode", maxMeta), ModeBlock)}
		if w.Mode != ModeBlock && w.Mode != ModePromote {
			Refuse("mode", "is %q, want %s or %s", w.Mode, ModeBlock, ModePromote)
		}
		w.Reason, w.Revision = o.text("reason", maxMeta), o.revision()
		return w
	})
}

// value is a field that is given and not null.
func (o object) value(name string) (raw jsontext.Value, ok bool) {
	raw = o[name]
	return raw, len(raw) > 0 && raw.Kind() != 'n'
}

// id reads an id: text, or an integer, which equals its decimal string.
func (o object) id(required bool) string {
	raw, ok := o.value("id")
	switch {
	case ok:
		return must.Get(ParseID(json.RawMessage(raw)))
	case required:
		Refuse("id", "is missing")
	}
	return ""
}

// ParseID reads an id from JSON: text, or an integer, which equals its decimal
// string. Its errors are *FieldError.
func ParseID(raw json.RawMessage) (id string, err error) {
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
		return &FieldError{Field: "id", Problem: fmt.Sprintf("has %d bytes, at most %d are taken", len(id), MaxID), TooLarge: true}
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
func (o object) text(name string, limit int) string {
	raw, ok := o.value(name)
	if !ok {
		return ""
	}
	if raw.Kind() != '"' {
		Refuse(name, "is not text")
	}
	s := raw[1 : len(raw)-1]
	if bytes.IndexByte(s, '\\') >= 0 {
		// The value is valid JSON already. The only error left is half of a surrogate pair.
		s, _ = jsontext.AppendUnquote(make([]byte, 0, len(raw)), raw)
	}
	if len(s) > limit {
		TooLarge(name, "has %d bytes, at most %d are taken", len(s), limit)
	}
	return string(s)
}

func (o object) revision() int64 {
	raw, ok := o.value("revision")
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		Refuse("revision", "is %.40s, want an integer from 0", raw)
	}
	return n
}

func (o object) time(name string) *time.Time {
	s := o.text(name, 64)
	if s == "" {
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		Refuse(name, "is %q, want RFC 3339 as in 2026-01-02T15:04:05+08:00", s)
	}
	return &t
}
