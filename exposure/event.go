package exposure

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// EventKind is what happened to the items of an event.
type EventKind uint8

const (
	Delivered EventKind = iota // sent to the user; may never have been looked at
	Seen                       // shown, played, read
	Unsee                      // to be offered again
	Forget                     // everything of the user, in all histories
)

var kindNames = [...]string{"delivered", "seen", "unsee", "forget"}

func (k EventKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// ParseKind reads the kind of a report: delivered, seen, or played, which is seen.
func ParseKind(s string) (EventKind, error) {
	switch s {
	case "delivered":
		return Delivered, nil
	case "seen", "played":
		return Seen, nil
	case "":
		return 0, invalid("kind", "is missing: delivered or seen")
	}
	return 0, invalid("kind", "is %.60q: delivered or seen", s)
}

// Event is one entry of the log: what happened to some items of one user. On the
// wire it is a subject, exposures.<kind>.<partition>, and a JSON object
// {user, items, at?, scene?}.
type Event struct {
	Kind  EventKind
	User  string
	Items []string
	At    time.Time // when it happened; zero means when it was logged
	Scene string
}

func (e *Event) check() error {
	if err := checkName("user", e.User, true); err != nil {
		return err
	}
	if err := checkName("scene", e.Scene, false); err != nil {
		return err
	}
	if e.Kind == Forget {
		return nil
	}
	if len(e.Items) == 0 {
		return invalid("items", "is empty")
	}
	if len(e.Items) > MaxItems {
		return tooLarge("items", "has %d ids, the limit is %d", len(e.Items), MaxItems)
	}
	for i, id := range e.Items {
		if n := len(id); n == 0 || n > MaxIDBytes {
			return idLength(i, n)
		}
		if !utf8.ValidString(id) {
			return malformed("items", "id %d is not UTF-8", i)
		}
	}
	return nil
}

// subjectPrefix begins every subject of the EXPOSURES stream.
const subjectPrefix = "exposures."

// subject is where an event is published.
func (e *Event) subject(partition int) string {
	return fmt.Sprintf("%s%s.%d", subjectPrefix, e.Kind, partition)
}

// kindOfSubject reads exposures.<kind>, with or without a partition behind it.
func kindOfSubject(subject string) (EventKind, bool) {
	rest, ok := strings.CutPrefix(subject, subjectPrefix)
	name, _, _ := strings.Cut(rest, ".")
	for k, n := range kindNames {
		if ok && n == name {
			return EventKind(k), true
		}
	}
	return 0, false
}

// appendPayload encodes {user, items, at, scene} with items [from, to).
func (e *Event) appendPayload(b []byte, from, to int) []byte {
	b = append(b, `{"user":`...)
	b = appendString(b, e.User)
	if e.Scene != "" {
		b = append(b, `,"scene":`...)
		b = appendString(b, e.Scene)
	}
	if !e.At.IsZero() {
		b = append(b, `,"at":"`...)
		b = e.At.UTC().AppendFormat(b, time.RFC3339Nano)
		b = append(b, '"')
	}
	b = append(b, `,"items":[`...)
	for i := from; i < to; i++ {
		if i > from {
			b = append(b, ',')
		}
		b = appendString(b, e.Items[i])
	}
	return append(b, "]}"...)
}

// appendString writes a JSON string.
func appendString[T string | []byte](b []byte, s T) []byte {
	const hexdigits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexdigits[c>>4], hexdigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// eventTime reads at, the time an event claims for itself.
func eventTime(at string) (time.Time, error) {
	if at == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return t, invalid("at", "is %.60q, want RFC 3339 such as 2024-05-06T07:08:09+08:00", at)
	}
	return t, nil
}

// DecodeReport reads the JSON body of a report, {user, kind, items, at?, scene?}.
// With kind Unsee or Forget the body need not (and may not) name another.
func DecodeReport(body []byte, kind EventKind) (Event, error) {
	m := messages.Get().(*message)
	defer messages.Put(m)
	if err := m.decode(body); err != nil {
		return Event{}, err
	}
	ev := Event{Kind: kind, User: m.user, Scene: m.scene}
	var err error
	if kind == Delivered || kind == Seen {
		if ev.Kind, err = ParseKind(m.kind); err != nil {
			return ev, err
		}
	} else if m.kind != "" && m.kind != kind.String() {
		return ev, invalid("kind", "is %.60q, and this is %s", m.kind, kind)
	}
	if ev.At, err = eventTime(m.at); err != nil {
		return ev, err
	}
	if kind != Forget {
		ev.Items = m.strings()
	}
	return ev, ev.check()
}

// DecodeQuery reads {user, scene?, items?}.
func DecodeQuery(body []byte) (user, scene string, items []string, err error) {
	m := messages.Get().(*message)
	defer messages.Put(m)
	if err := m.decode(body); err != nil {
		return "", "", nil, err
	}
	return m.user, m.scene, m.strings(), nil
}

// strings copies the ids: messages are pooled and bodies belong to callers.
func (m *message) strings() []string {
	out := make([]string, len(m.spans))
	for i := range out {
		out[i] = string(m.id(i))
	}
	return out
}
