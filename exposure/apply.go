package exposure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
	"jianguo/internal/wait"
)

// event is an entry of the log, decoded, or what such an event means for a user with whom its own is linked.
type event struct {
	state.Event
	user, scene string
	q           *wire.Query // the items
	seq         uint64      // of the entry
}

// states are where users' states are kept: the file (writer), or a Redis (owner).
type states interface {
	// apply applies an event to the state of its user in a history, and returns the links that the state had.
	apply(ctx context.Context, history string, ev *event) (state.Links, error)
	// linksOf lists the links of a user in all histories.
	linksOf(ctx context.Context, user string) (state.Links, error)
	// tell has an event applied that follows from one of another user.
	tell(ctx context.Context, ev *event) error
}

// decode reads an entry of the log, its items into q. An event counts when it was logged. Nothing expires because
// of a log whose clock is wrong.
func (s *core) decode(e eventlog.Entry, q *wire.Query) (*event, error) {
	kind, err := s.kindOf(e.Subject)
	if err != nil {
		return nil, err
	}
	if err := q.Decode(e.Data); err != nil {
		return nil, err
	}
	at, err := eventTime(q.At)
	if err := cmp.Or(checkEvent(kind, q.User, q.From, q.Len()), err); err != nil {
		return nil, err
	}
	ev := &event{user: q.User, scene: q.Scene, q: q, seq: e.Seq}
	ev.Kind, ev.From, ev.At = kind, q.From, at
	ev.Logged, ev.Now = e.Time.In(s.cfg.Location), s.cfg.Clock().In(s.cfg.Location)
	if ev.Logged.Before(ev.Now) {
		ev.Now = ev.Logged
	}
	return ev, nil
}

// historiesOf lists the histories that an event may change.
func (s *core) historiesOf(ev *event) (list []string) {
	switch {
	case ev.Kind == Imported:
		return []string{""}
	case ev.Kind == Unsee:
		return s.scene(ev.scene).all()
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
func (s *core) apply(ctx context.Context, to states, ev *event, histories []string) error {
	s.metrics.events.WithLabelValues(string(ev.Kind)).Inc()
	switch ev.Kind {
	case Link:
		links := state.LinkReader(func(user string) (state.Links, error) { return to.linksOf(ctx, user) })
		if err := links.Check(ev.user, ev.From); err != nil {
			return err
		}
	case Unsee: // of all histories, or of none
		try := *ev
		try.Try = true
		if err := s.spread(ctx, to, &try, histories); err != nil {
			return err
		}
	}
	err := s.spread(ctx, to, ev, histories)
	if err == nil && ev.Kind == Seen {
		s.popular.Add(ev.q, ev.At, ev.Now)
	}
	return err
}

// refused says whether an error of apply is the outcome of the event, rather than a failure of the machine.
func refused(err error) bool { return errors.Is(err, ErrExceptions) || errors.Is(err, ErrLink) }

// spread applies an event without a check.
func (s *core) spread(ctx context.Context, to states, ev *event, histories []string) error {
	if ev.Kind.Items() {
		ev.Keys = ev.q.Keys(nil, wire.Seed(&s.secret, ev.user))
	}
	if ev.Kind == Forget {
		if err := s.forgetElsewhere(ctx, ev.user); err != nil {
			return err
		}
	}
	var links state.Links
	for _, history := range histories {
		l, err := to.apply(ctx, history, ev)
		if err != nil {
			return err
		}
		links.Join(l)
	}
	for _, other := range ev.others(links) {
		if err := to.tell(ctx, other); err != nil {
			return err
		}
	}
	return nil
}

// others are what an event means for other users. links are those that its user had.
func (ev *event) others(links state.Links) (list []*event) {
	add := func(kind EventKind, user, from string) {
		other := *ev
		other.Kind, other.user, other.From = kind, user, from
		list = append(list, &other)
	}
	switch ev.Kind {
	case Link:
		add(Linked, ev.From, ev.user)
	case Unlink:
		add(Unlinked, ev.From, ev.user)
	case Unsee:
		for _, from := range links.From {
			add(Unsee, from, "")
		}
	case Forget:
		for _, from := range links.From {
			add(Forget, from, "")
		}
		for _, into := range links.Into {
			add(Unlink, into, ev.user)
		}
	}
	return list
}

// forgetElsewhere removes what is kept of a user outside of states.
func (s *core) forgetElsewhere(ctx context.Context, user string) error {
	if s.cfg.Forgotten != nil {
		err := s.insist(ctx, "forget a user elsewhere", func() error { return s.cfg.Forgotten(ctx, user) })
		if err != nil {
			return err
		}
	}
	return s.insist(ctx, "erase a trace", func() error { return s.Traces.Erase(ctx, user) })
}

// setAside keeps an entry that can never be applied.
func (s *core) setAside(ctx context.Context, e eventlog.Entry, reason error) error {
	s.metrics.dead.Inc()
	s.cfg.Logger.Warn("exposure: event refused", "seq", e.Seq, "subject", e.Subject, "err", reason)
	user := wire.UserOf(e.Data)
	if s.cfg.Dead != nil {
		err := s.insist(ctx, "keep a refused event", func() error { return s.cfg.Dead(ctx, e, user, reason) })
		if err != nil {
			return err
		}
	}
	s.traceReport(e, e.Subject, &wire.Query{User: user}, reason)
	return nil
}

var errStopped = errors.New("exposure: stopped")

// insist tries again until it has done what must happen before an entry counts as applied.
func (s *core) insist(ctx context.Context, what string, do func() error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			s.cfg.Logger.Error("exposure: events wait, trying again", "to", what, "err", err)
		}
		if wait.For(ctx, pause) != nil {
			return fmt.Errorf("%w: %s: %w", errStopped, what, err)
		}
	}
}
