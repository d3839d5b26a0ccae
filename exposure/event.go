package exposure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
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
	"jianguo/internal/clock"
	"jianguo/internal/must"
)

func checkKind(kind state.EventKind, known []string) error {
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
	Kind  state.EventKind
	User  string
	Items []string
	At    time.Time // when it happened; zero means when it was logged
	Scene string
	From  string // the other user, of Link and Unlink
}

// checkEvent checks an event with so many items, whose ids wire.Query has checked.
func checkEvent(kind state.EventKind, user, from string, items int) error {
	if err := wire.CheckName("user", user, true); err != nil {
		return err
	}
	switch {
	case !kind.Items() && items > 0:
		return wire.Invalidf("items", "must not be here: %s is about all that a user has seen", kind)
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
func (s *core) kindOf(subject string) (state.EventKind, error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(subject, eventlog.SubjectPrefix), ".")
	if kind := state.EventKind(name); !slices.Contains(state.Acts, kind) {
		return kind, checkKind(kind, s.kinds)
	}
	return state.EventKind(name), nil
}

// payload encodes the event with items [from, to). It and parts panic on errors (must).
func (e *Event) payload(from, to int) []byte {
	return must.Get(json.Marshal(struct {
		User  string    `json:"user"`
		Scene string    `json:"scene,omitzero"`
		At    time.Time `json:"at,omitzero"`
		From  string    `json:"from,omitzero"`
		Items []string  `json:"items,omitempty"`
	}{e.User, e.Scene, e.At.UTC(), e.From, e.Items[from:to]}, jsontext.AllowInvalidUTF8(true)))
}

// eventTime reads at, the time an event claims for itself.
func eventTime(at string) (time.Time, error) {
	if at == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(at)) // t and z are RFC 3339 too
	if err != nil {
		return t, wire.Invalidf("at", "is %.60q, want RFC 3339 such as 2024-05-06T07:08:09+08:00", at)
	}
	if !t.After(time.Time{}) || t.UTC().Year() > 9999 { // it cannot be written to the log
		return t, wire.Invalidf("at", "is %.60q, want a time after 0001-01-01T00:00:00Z and before the year 10000", at)
	}
	return t, nil
}

// decodeReport reads {user, items, at?, scene?} or {user, from}: an event of a kind, which the body may name as
// well; without one, the body names one of those that are known. The kind played counts as seen.
func decodeReport(body []byte, kind state.EventKind, known []string) (Event, error) {
	return must.Try(func() Event {
		var q wire.Query
		must.Do(q.Decode(body))
		ev := Event{Kind: state.EventKind(q.Kind), User: q.User, Scene: q.Scene}
		if kind != "" {
			if known = []string{string(kind)}; q.Kind == "" {
				ev.Kind = kind
			}
		} else if q.Kind == "played" {
			ev.Kind = state.Seen
		}
		must.Do(checkKind(ev.Kind, known))
		ev.At = must.Get(eventTime(q.At))
		if ev.Items = q.IDs(); ev.Kind.Links() {
			ev.From = q.From
		}
		return ev
	})
}

// Report is Expose for the body of a request to POST /exposures, or, with a kind, to the route of that kind.
func (s *Store) Report(ctx context.Context, body []byte, kind state.EventKind) error {
	ev, err := decodeReport(body, kind, s.kinds)
	if err != nil {
		return err
	}
	return s.Expose(ctx, ev)
}

// maxEventBytes is well under what a bus carries in one message. Longer reports become several events.
const maxEventBytes = 256 << 10

// Expose logs an event and returns when it is durable and applied: every Filter that begins
// later takes it into account. An error that is neither a *wire.Error nor
// ErrFull nor ErrExceptions nor ErrLink leaves open whether the event was logged; reporting it
// again is harmless.
func (s *Store) Expose(ctx context.Context, ev Event) error {
	if err := cmp.Or(ev.check(), s.Err()); err != nil {
		return err
	}
	p, known := 0, func(int) uint64 { return s.w.applied.Seq() }
	wait := func(ctx context.Context, _ int, seq uint64) error { return s.w.applied.Wait(ctx, seq, s.Err) }
	if s.fleet != nil {
		if err := s.fleet.trouble.Err(); err != nil {
			return err
		}
		p, known, wait = redis.PartitionOf(ev.User), s.fleet.Acks.Seq, s.fleet.Acks.Wait
	}
	return must.Catch(func() {
		for payload := range ev.parts() {
			applied := known(p)
			seq, err := s.cfg.Log.Append(ctx, ev.subject(p), payload)
			if err == nil && seq <= applied { // the log has lost its end, which the consumer has not noticed yet
				err = eventlog.ErrGone
			}
			must.Dof(err, "report for user %q", ev.User)
			must.Dof(s.cfg.Fail("appended"), "report for user %q", ev.User)
			must.Do(wait(ctx, p, seq)) // an un-see is all or nothing only within one event
		}
	})
}

// parts are the payloads of an event, each with as many items as fit.
func (e *Event) parts() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
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

// logEvent is an entry of the log, decoded, or what such an event means for a user with whom its own is linked.
type logEvent struct {
	state.Event
	user, scene string
	q           *wire.Query // the items
	seq         uint64      // of the entry
	below       []string    // of an un-see and a forget: users whose histories count, and who are told
}

// states are where users' states are kept: the file (writer), or a Redis (owner). linksOf and applyFollowUp panic on
// errors (must).
type states interface {
	// apply applies an event to the state of its user in a history, and returns the links that the state had.
	apply(ctx context.Context, history string, ev *logEvent) (state.Links, error)
	// linksOf lists the links of a user in all histories.
	linksOf(ctx context.Context, user string) state.Links
	// applyFollowUp has an event applied that follows from one of another user.
	applyFollowUp(ctx context.Context, ev *logEvent)
}

// decode reads an entry of the log, its items into q. An event counts when it was logged. Nothing expires because
// of a log whose clock is wrong.
func (s *core) decode(e eventlog.Entry, q *wire.Query) (*logEvent, error) {
	return must.Try(func() *logEvent {
		kind := must.Get(s.kindOf(e.Subject))
		must.Do(q.Decode(e.Data))
		must.Do(checkEvent(kind, q.User, q.From, q.Len()))
		ev := &logEvent{user: q.User, scene: q.Scene, q: q, seq: e.Seq}
		ev.Kind, ev.From, ev.At = kind, q.From, must.Get(eventTime(q.At))
		ev.Logged, ev.Now = e.Time.In(s.cfg.Location), s.cfg.Clock().In(s.cfg.Location)
		if ev.Logged.Before(ev.Now) {
			ev.Now = ev.Logged
		}
		return ev
	})
}

func (s *core) historiesOf(ev *logEvent) (list []string) {
	switch {
	case ev.Kind == state.Imported:
		return []string{""}
	case ev.Kind == state.Unsee:
		return s.scene(ev.scene).all()
	case ev.Kind == state.Forget:
		return slices.AppendSeq(slices.Clone(s.unlisted), maps.Keys(s.policies))
	case !ev.Kind.Items():
		return slices.Collect(maps.Keys(s.policies))
	}
	for _, history := range s.scene(ev.scene).Writes {
		if slices.Contains(s.keeps[history], string(ev.Kind)) {
			list = append(list, history)
		}
	}
	return list
}

// apply applies an event of the log to histories of its user, and has done what it means for other users. With an
// error that is refused, it has changed nothing.
func (s *core) apply(ctx context.Context, to states, ev *logEvent, histories []string) error {
	s.metrics.events.WithLabelValues(string(ev.Kind)).Inc()
	links := state.LinkReader(func(user string) (state.Links, error) {
		return must.Try(func() state.Links { return to.linksOf(ctx, user) })
	})
	return must.Catch(func() {
		switch {
		case ev.Kind == state.Link:
			must.Do(links.Check(ev.user, ev.From))
		case (ev.Kind == state.Unsee || ev.Kind == state.Forget) && ev.From == "":
			ev.below = must.Get(links.Below(ev.user))
		}
		if ev.Kind == state.Unsee { // of all histories of all of them, or of none
			for _, user := range append([]string{ev.user}, ev.below...) {
				dryRun := *ev
				dryRun.DryRun, dryRun.user, dryRun.below = true, user, nil
				s.applyUnchecked(ctx, to, &dryRun, histories)
			}
		}
		s.applyUnchecked(ctx, to, ev, histories)
		if ev.Kind == state.Seen {
			s.popular.Add(ev.q, ev.At, ev.Now)
		}
	})
}

// refused says whether an error of apply is the outcome of the event, rather than a failure of the machine.
func refused(err error) bool { return errors.Is(err, ErrExceptions) || errors.Is(err, ErrLink) }

// applyUnchecked applies an event without a check. It panics on errors (must).
func (s *core) applyUnchecked(ctx context.Context, to states, ev *logEvent, histories []string) {
	if ev.Kind.Items() {
		ev.Keys = ev.q.Keys(nil, wire.Seed(&s.secret, ev.user))
	}
	if ev.Kind == state.Forget {
		s.forgetElsewhere(ctx, ev.user)
	}
	var links state.Links
	for _, history := range histories {
		links.Join(must.Get(to.apply(ctx, history, ev)))
	}
	for _, other := range ev.followUps(links) {
		to.applyFollowUp(ctx, other)
	}
}

// followUps are what an event means for other users. links are those that its user had. An un-see and a forget say from
// whom they come, and go no further: owners of two partitions may take links at once that form a circle.
func (ev *logEvent) followUps(links state.Links) (list []*logEvent) {
	add := func(kind state.EventKind, user, from string) {
		other := *ev
		other.Kind, other.user, other.From, other.below = kind, user, from, nil
		list = append(list, &other)
	}
	if ev.Kind == state.Forget && ev.From == "" { // in histories that no scene names any more, too
		ev.below = state.Union(ev.below, links.From)
	}
	for _, user := range ev.below {
		add(ev.Kind, user, ev.user)
	}
	switch ev.Kind {
	case state.Link:
		add(state.Linked, ev.From, ev.user)
	case state.Unlink:
		add(state.Unlinked, ev.From, ev.user)
	case state.Forget:
		for _, into := range links.Into {
			add(state.Unlink, into, ev.user)
		}
	}
	return list
}

// forgetElsewhere removes what is kept of a user outside of states. It and what follows panic on errors (must).
func (s *core) forgetElsewhere(ctx context.Context, user string) {
	if s.cfg.Forgotten != nil {
		s.retry(ctx, "forget a user elsewhere", func() error { return s.cfg.Forgotten(ctx, user) })
	}
	s.retry(ctx, "erase a trace", func() error { return s.Traces.Erase(ctx, user) })
}

// bury keeps an entry that can never be applied as a dead letter.
func (s *core) bury(ctx context.Context, e eventlog.Entry, reason error) {
	s.metrics.dead.Inc()
	s.cfg.Logger.Warn("exposure: event refused", "seq", e.Seq, "subject", e.Subject, "err", reason)
	user := wire.UserOf(e.Data)
	if s.cfg.Dead != nil {
		s.retry(ctx, "keep a refused event", func() error { return s.cfg.Dead(ctx, e, user, reason) })
	}
	s.traceReport(e, e.Subject, &wire.Query{User: user}, reason)
}

var errStopped = errors.New("exposure: stopped")

// retry tries again until it has done what must happen before an entry counts as applied.
func (s *core) retry(ctx context.Context, what string, do func() error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		err := do()
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			s.cfg.Logger.Error("exposure: events wait, trying again", "to", what, "err", err)
		}
		if clock.Sleep(ctx, pause) != nil {
			must.Do(fmt.Errorf("%w: %s: %w", errStopped, what, err))
		}
	}
}
