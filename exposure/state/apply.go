package state

import "time"

// Event is what happened to a user, as it changes the states of that user.
type Event struct {
	Kind        EventKind
	Keys        []uint32  // of reports and un-sees
	From        string    // the other user, of links
	At          time.Time // when it happened, as it says itself; zero: when it was logged
	Logged, Now time.Time // what has expired by Now is dropped
	Try         bool      // of an un-see: nothing is changed, and the answer is that of the un-see
}

// Apply changes a state by an event of its user: the only way in which states change. With ErrExceptions it has
// changed nothing.
func (s *State) Apply(p *Policy, ev *Event, fetch Fetcher) error {
	s.view = nil
	switch ev.Kind {
	case Unsee:
		return s.Unsee(p, ev.Keys, ev.Now, fetch, ev.Try)
	case Forget:
		s.Reset()
		s.Links = Links{}
	case Link, Unlink:
		s.Links.From = SetUser(s.Links.From, ev.From, ev.Kind == Link)
	case Linked:
		s.Touch(p, ev.Logged, ev.Now) // the link ends when this state expires
		s.Links.Into = SetUser(s.Links.Into, ev.From, true)
	case Unlinked:
		s.Links.Into = SetUser(s.Links.Into, ev.From, false)
	case Imported:
		s.Touch(p, ev.Logged, ev.Now)
		s.Links.Imported = true
	case Delivered:
		s.Deliver(p, ev.Keys, p.Clamp(ev.At, ev.Logged), ev.Now)
	default:
		return s.See(p, ev.Keys, p.Clamp(ev.At, ev.Logged), ev.Now, fetch)
	}
	return nil
}

// Op is one key of a report that waits until its user's row has been read.
type Op struct {
	At, Now   int64 // unix seconds; what has expired by now is dropped
	Key       uint32
	Delivered bool
}

// Later appends a report to the ops that wait for a row: what it adds does not depend on that.
func (ev *Event) Later(p *Policy, ops []Op) []Op {
	at, now := p.Clamp(ev.At, ev.Logged).Unix(), ev.Now.Unix()
	for _, key := range ev.Keys {
		ops = append(ops, Op{At: at, Now: now, Key: key, Delivered: ev.Kind == Delivered})
	}
	return ops
}

// Replay applies ops to a state. Ops of one event share their time and are applied
// together.
func (s *State) Replay(p *Policy, ops []Op, loc *time.Location, fetch Fetcher) error {
	var keys []uint32
	for i := 0; i < len(ops); {
		first := ops[i]
		keys = keys[:0]
		for ; i < len(ops) && ops[i] == (Op{first.At, first.Now, ops[i].Key, first.Delivered}); i++ {
			keys = append(keys, ops[i].Key)
		}
		at, now := time.Unix(first.At, 0).In(loc), time.Unix(first.Now, 0).In(loc)
		if first.Delivered {
			s.Deliver(p, keys, at, now)
		} else if err := s.See(p, keys, at, now, fetch); err != nil {
			return err
		}
	}
	return nil
}
