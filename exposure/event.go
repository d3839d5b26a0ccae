package exposure

import (
	"fmt"
	"strings"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/wire"
)

// EventKind is what happened to the items of an event: an index into eventlog.Kinds.
type EventKind uint8

const (
	Delivered EventKind = iota // sent to the user; may never have been looked at
	Seen                       // shown, played, read
	Unsee                      // to be offered again
	Forget                     // everything of the user, in all histories
	Imported                   // all that the old store held has been reported
	Link                       // the history of another user counts as well
	Unlink                     // it no longer does
)

func (k EventKind) String() string {
	if int(k) < len(eventlog.Kinds) {
		return eventlog.Kinds[k]
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
		return 0, wire.Invalidf("kind", "is missing: delivered or seen")
	}
	return 0, wire.Invalidf("kind", "is %.60q: delivered or seen", s)
}

// Event is one entry of the log: what happened to some items of one user. On the
// wire it is a subject, exposures.<kind>.<partition>, and a JSON object
// {user, items, at?, scene?}, or {user, from}.
type Event struct {
	Kind  EventKind
	User  string
	Items []string
	At    time.Time // when it happened; zero means when it was logged
	Scene string
	From  string // the other user, of Link and Unlink
}

func (e *Event) check() error {
	if err := wire.CheckName("user", e.User, true); err != nil {
		return err
	}
	if err := wire.CheckName("scene", e.Scene, false); err != nil {
		return err
	}
	switch {
	case e.Kind == Forget, e.Kind == Imported:
		return nil
	case e.Kind >= Link:
		return checkFrom(e.User, e.From)
	case len(e.Items) == 0:
		return wire.Invalidf("items", "is empty")
	}
	return wire.CheckIDs(e.Items)
}

func checkFrom(user, from string) error {
	if from == user {
		return wire.Invalidf("from", "is the user itself")
	}
	return wire.CheckName("from", from, true)
}

// subject is where an event is published. The last part is the partition, of which
// there is one.
func (e *Event) subject() string { return eventlog.SubjectPrefix + e.Kind.String() + ".0" }

// kindOfSubject reads exposures.<kind>, with or without a partition after it.
func kindOfSubject(subject string) (EventKind, bool) {
	rest, ok := strings.CutPrefix(subject, eventlog.SubjectPrefix)
	name, _, _ := strings.Cut(rest, ".")
	for k, n := range eventlog.Kinds {
		if ok && n == name {
			return EventKind(k), true
		}
	}
	return 0, false
}

// appendPayload encodes {user, items, at, scene} with items [from, to).
func (e *Event) appendPayload(b []byte, from, to int) []byte {
	b = append(b, `{"user":`...)
	b = wire.AppendString(b, e.User)
	if e.Scene != "" {
		b = append(b, `,"scene":`...)
		b = wire.AppendString(b, e.Scene)
	}
	if !e.At.IsZero() {
		b = append(b, `,"at":"`...)
		b = e.At.UTC().AppendFormat(b, time.RFC3339Nano)
		b = append(b, '"')
	}
	if e.Kind >= Link {
		b = append(b, `,"from":`...)
		return append(wire.AppendString(b, e.From), '}')
	}
	b = append(b, `,"items":[`...)
	for i := from; i < to; i++ {
		if i > from {
			b = append(b, ',')
		}
		b = wire.AppendString(b, e.Items[i])
	}
	return append(b, "]}"...)
}

// eventTime reads at, the time an event claims for itself.
func eventTime(at string) (time.Time, error) {
	if at == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return t, wire.Invalidf("at", "is %.60q, want RFC 3339 such as 2024-05-06T07:08:09+08:00", at)
	}
	return t, nil
}

// DecodeReport reads the JSON body of a report, {user, kind, items, at?, scene?}. With a kind
// from Unsee on the body need not name a kind, and may not name another.
func DecodeReport(body []byte, kind EventKind) (Event, error) {
	var q wire.Query
	if err := q.Decode(body); err != nil {
		return Event{}, err
	}
	ev := Event{Kind: kind, User: q.User, Scene: q.Scene, From: q.From}
	var err error
	if kind == Delivered || kind == Seen {
		if ev.Kind, err = ParseKind(q.Kind); err != nil {
			return ev, err
		}
	} else if q.Kind != "" && q.Kind != kind.String() {
		return ev, wire.Invalidf("kind", "is %.60q, and this is %s", q.Kind, kind)
	}
	if ev.At, err = eventTime(q.At); err != nil {
		return ev, err
	}
	if kind < Forget {
		ev.Items = q.IDs()
	}
	return ev, ev.check()
}

// DecodeQuery reads {user, scene?, items?}.
func DecodeQuery(body []byte) (user, scene string, items []string, err error) {
	var q wire.Query
	if err := q.Decode(body); err != nil {
		return "", "", nil, err
	}
	return q.User, q.Scene, q.IDs(), nil
}
