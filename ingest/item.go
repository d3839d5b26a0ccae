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

// fields are the raw values of a payload; unknown ones are ignored.
type fields map[string]json.RawMessage

// decodeFields reads the values of an object in one pass, where encoding/json needs two. Of a
// name given twice the last value counts.
func decodeFields(data []byte) (fields, error) {
	if !utf8.Valid(data) {
		return nil, &FieldError{Field: "payload", Problem: "is not UTF-8"}
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	f := fields{}
	refuse := func(err error) (fields, error) {
		return nil, &FieldError{Field: "payload", Problem: fmt.Sprint("is not a JSON object: ", err)}
	}
	begin, err := d.ReadToken()
	if err != nil {
		return refuse(err)
	}
	if kind := begin.Kind(); kind != '{' {
		return nil, &FieldError{Field: "payload", Problem: "is a JSON " + cmp.Or(map[jsontext.Kind]string{'[': "array", '0': "number"}[kind], kind.String()) + ", not an object"}
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return refuse(err)
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return refuse(err)
		}
		f[key] = json.RawMessage(value)
	}
	if _, err := d.ReadToken(); err != nil { // the end of the object
		return refuse(err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return refuse(cmp.Or(err, errors.New("there is more behind it")))
	}
	return f, nil
}

// DecodeItem reads a payload of items.publish. Its errors are *FieldError.
func DecodeItem(data []byte) (*Item, error) { return decodeItem(data, true) }

// DecodeDocument reads an item whose id may be missing: for checks.
func DecodeDocument(data []byte) (*Item, error) { return decodeItem(data, false) }

func decodeItem(data []byte, wantsID bool) (*Item, error) {
	f, err := decodeFields(data)
	if err != nil {
		return nil, err
	}
	it := new(Item)
	if it.ID, err = f.id(wantsID); err != nil {
		return nil, err
	}
	for _, t := range []struct {
		name string
		to   *string
		max  int
	}{{"title", &it.Title, MaxText}, {"body", &it.Body, MaxText}, {"source", &it.Source, maxMeta}, {"url", &it.URL, maxMeta}} {
		if *t.to, err = f.text(t.name, t.max); err != nil {
			return nil, err
		}
	}
	if it.Revision, err = f.revision(); err != nil {
		return nil, err
	}
	if it.Published, err = f.time("published_at"); err != nil {
		return nil, err
	}
	return it, it.Validate()
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
	f, err := decodeFields(data)
	if err != nil {
		return nil, err
	}
	w := new(Withdrawal)
	if w.ID, err = f.id(true); err != nil {
		return nil, err
	}
	if w.Mode, err = f.text("mode", maxMeta); err != nil {
		return nil, err
	}
	if w.Mode == "" {
		w.Mode = ModeBlock
	}
	if w.Mode != ModeBlock && w.Mode != ModePromote {
		return nil, &FieldError{Field: "mode", Problem: fmt.Sprintf("is %q, want %s or %s", w.Mode, ModeBlock, ModePromote)}
	}
	if w.Reason, err = f.text("reason", maxMeta); err != nil {
		return nil, err
	}
	w.Revision, err = f.revision()
	return w, err
}

// id reads an id: text, or an integer, which equals its decimal string.
func (f fields) id(required bool) (string, error) {
	raw, ok := f["id"]
	if !ok || isNull(raw) {
		if required {
			return "", &FieldError{Field: "id", Problem: "is missing"}
		}
		return "", nil
	}
	return ParseID(raw)
}

// ParseID reads an id from JSON: text, or an integer, which equals its decimal
// string. Its errors are *FieldError.
func ParseID(raw json.RawMessage) (id string, err error) {
	switch {
	case len(raw) > 0 && raw[0] == '"':
		if loneSurrogate(raw) {
			return "", &FieldError{Field: "id", Problem: "has half of a surrogate pair, which no text has"}
		}
		if err := json.Unmarshal(raw, &id); err != nil {
			return "", &FieldError{Field: "id", Problem: err.Error()}
		}
	default:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return "", &FieldError{Field: "id", Problem: "is neither text nor a 64-bit integer"}
		}
		id = strconv.FormatInt(n, 10)
	}
	return id, CheckID(id)
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
func (f fields) text(name string, limit int) (string, error) {
	raw, ok := f[name]
	if !ok || isNull(raw) {
		return "", nil
	}
	if raw[0] != '"' {
		return "", &FieldError{Field: name, Problem: "is not text"}
	}
	// The value is valid JSON already. The only error left is half of a surrogate pair.
	s, _ := jsontext.AppendUnquote(make([]byte, 0, len(raw)), raw)
	if len(s) > limit {
		return "", &FieldError{Field: name, Problem: fmt.Sprintf("has %d bytes, at most %d are taken", len(s), limit), TooLarge: true}
	}
	return string(s), nil
}

func (f fields) revision() (int64, error) {
	raw, ok := f["revision"]
	if !ok || isNull(raw) {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		return 0, &FieldError{Field: "revision", Problem: fmt.Sprintf("is %.40s, want an integer from 0", raw)}
	}
	return n, nil
}

func (f fields) time(name string) (*time.Time, error) {
	s, err := f.text(name, 64)
	if err != nil || s == "" {
		return nil, err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return nil, &FieldError{Field: name, Problem: fmt.Sprintf("is %q, want RFC 3339 as in 2026-01-02T15:04:05+08:00", s)}
	}
	return &t, nil
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(raw, []byte("null")) }

// loneSurrogate reports whether a JSON string has a \u escape that is half of
// a pair; encoding/json would replace it with U+FFFD and report nothing.
func loneSurrogate(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		unit := escaped(raw[i+1:])
		switch {
		case unit >= 0xdc00 && unit < 0xe000:
			return true
		case unit >= 0xd800 && unit < 0xdc00:
			rest := raw[i+5:]
			if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
				return true
			}
			if low := escaped(rest[2:]); low < 0xdc00 || low >= 0xe000 {
				return true
			}
			i += 6
		}
		i += 4
	}
	return false
}

func escaped(digits []byte) rune {
	if len(digits) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
