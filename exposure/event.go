package exposure

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
)

// checkKind refuses a kind that is not one of those given.
func checkKind(kind EventKind, known []string) error {
	switch {
	case slices.Contains(known, string(kind)):
		return nil
	case kind == "":
		return wire.Invalidf("kind", "is missing: %s", strings.Join(known, " or "))
	}
	return wire.Invalidf("kind", "is %.60q: %s", string(kind), strings.Join(known, " or "))
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

// checkEvent is all but what wire.Query has checked, the ids, of which there are so many.
func checkEvent(kind EventKind, user, from string, items int) error {
	if err := wire.CheckName("user", user, true); err != nil {
		return err
	}
	switch {
	case kind.Links() && from == user:
		return wire.Invalidf("from", "is the user itself")
	case kind.Links():
		return wire.CheckName("from", from, true)
	case kind.Items() && items == 0:
		return wire.Invalidf("items", "is empty")
	}
	return nil
}

func (e *Event) check() error {
	return cmp.Or(checkEvent(e.Kind, e.User, e.From, len(e.Items)), wire.CheckName("scene", e.Scene, false))
}

// subject is where an event of a partition is published. Without a shared store there is one partition.
func (e *Event) subject(partition int) string {
	return eventlog.SubjectPrefix + string(e.Kind) + "." + strconv.Itoa(partition)
}

// kindOf reads exposures.<kind>, with or without a partition after it.
func (s *core) kindOf(subject string) (EventKind, error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(subject, eventlog.SubjectPrefix), ".")
	if kind := EventKind(name); !slices.Contains(state.Acts, kind) {
		return kind, checkKind(kind, s.kinds)
	}
	return EventKind(name), nil
}

// payload encodes the event with items [from, to).
func (e *Event) payload(from, to int) ([]byte, error) {
	body := struct {
		User  string    `json:"user"`
		Scene string    `json:"scene,omitzero"`
		At    time.Time `json:"at,omitzero"`
		From  string    `json:"from,omitzero"`
		Items []string  `json:"items,omitempty"`
	}{e.User, e.Scene, e.At.UTC(), "", e.Items[from:to]}
	if e.Kind.Links() {
		body.From, body.Items = e.From, nil
	}
	return json.Marshal(body, jsontext.AllowInvalidUTF8(true))
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

// decodeReport reads {user, items, at?, scene?} or {user, from}: an event of a kind, which the body may name as
// well; without one, the body names one of those that are known. Played is seen.
func decodeReport(body []byte, kind EventKind, known []string) (Event, error) {
	var q wire.Query
	if err := q.Decode(body); err != nil {
		return Event{}, err
	}
	ev := Event{Kind: EventKind(q.Kind), User: q.User, Scene: q.Scene, From: q.From}
	if kind != "" {
		if known = []string{string(kind)}; q.Kind == "" {
			ev.Kind = kind
		}
	} else if q.Kind == "played" {
		ev.Kind = Seen
	}
	err := checkKind(ev.Kind, known)
	if err == nil {
		ev.At, err = eventTime(q.At)
	}
	if err != nil {
		return ev, err
	}
	if ev.Kind.Items() {
		ev.Items = q.IDs()
	}
	return ev, ev.check()
}

// Report is Expose for the body of a request to POST /exposures, or, with a kind, to the route of that kind.
func (s *Store) Report(ctx context.Context, body []byte, kind EventKind) error {
	ev, err := decodeReport(body, kind, s.kinds)
	if err != nil {
		return err
	}
	return s.Expose(ctx, ev)
}

// maxEventBytes keeps an event well under what a bus carries in one message; longer
// reports become several events.
const maxEventBytes = 256 << 10

// Expose logs an event and returns when it is durable and applied: every Filter that begins
// later takes it into account. An error that is neither a *wire.Error nor
// ErrFull nor ErrExceptions nor ErrLink leaves open whether the event was logged; reporting it
// again is harmless.
func (s *Store) Expose(ctx context.Context, ev Event) error {
	if err := s.Err(); err != nil {
		return err
	}
	if err := ev.check(); err != nil {
		return err
	}
	p, wait := 0, func(ctx context.Context, _ int, seq uint64) error { return s.w.applied.Wait(ctx, seq, s.Err) }
	if s.fleet != nil {
		if err := s.fleet.trouble.Err(); err != nil {
			return err
		}
		p, wait = redis.PartitionOf(ev.User), s.fleet.Acks.Wait
	}
	var last uint64
	for payload, err := range ev.parts() {
		var seq uint64
		if err == nil {
			seq, err = s.cfg.Log.Append(ctx, ev.subject(p), payload)
		}
		if err == nil {
			err = s.cfg.Fail("appended")
		}
		if err != nil {
			return fmt.Errorf("report for user %q: %w", ev.User, err)
		}
		last = seq
		// An un-see is all or nothing only within one event, so the outcome of each part
		// matters; of other kinds only that of the last.
		if ev.Kind == Unsee {
			if err := wait(ctx, p, seq); err != nil {
				return err
			}
		}
	}
	if ev.Kind == Unsee {
		return nil
	}
	return wait(ctx, p, last)
}

// parts are the payloads of an event, each with as many items as fit.
func (e *Event) parts() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for from := 0; ; {
			size, to := 0, from
			for to < len(e.Items) && (to == from || size+2*len(e.Items[to])+3 <= maxEventBytes) {
				size += 2*len(e.Items[to]) + 3
				to++
			}
			if !yield(e.payload(from, to)) || to >= len(e.Items) {
				return
			}
			from = to
		}
	}
}
