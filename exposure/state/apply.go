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
