package state

import (
	"slices"
	"time"
)

// EventKind is what happened to the items of an event, as subjects and reports name it. Config.Kinds of exposure may
// list more; what is reported of such a kind is kept as what was seen is.
type EventKind string

const (
	Delivered EventKind = "delivered" // sent to the user; may never have been looked at
	Seen      EventKind = "seen"      // shown, played, read
	Unsee     EventKind = "unsee"     // to be offered again
	Forget    EventKind = "forget"    // everything of the user, in all histories
	Imported  EventKind = "imported"  // all that the old store held has been reported
	Link      EventKind = "link"      // the history of another user counts as well
	Unlink    EventKind = "unlink"    // it no longer does

	// What the owner of a user in a shared store tells the owner of another one.
	Linked   EventKind = "linked"   // the history counts for the other user
	Unlinked EventKind = "unlinked" // it no longer does
)

// Acts are the kinds that are no reports.
var Acts = []EventKind{Unsee, Forget, Imported, Link, Unlink, Linked, Unlinked}

// Links says whether an event of this kind is about two users.
func (k EventKind) Links() bool {
	return k == Link || k == Unlink || k == Linked || k == Unlinked
}

// Items says whether an event of this kind has items.
func (k EventKind) Items() bool { return k == Unsee || !slices.Contains(Acts, k) }

// Event is what happened to a user, as it changes the states of that user.
type Event struct {
	Kind        EventKind
	Keys        []uint32  // of reports and un-sees
	From        string    // the other user, of links
	At          time.Time // when it happened, as it says itself; zero: when it was logged
	Logged, Now time.Time // what has expired by Now is dropped
	DryRun      bool      // of an un-see: nothing is changed, and the answer is that of the un-see
}

// Apply changes a state by an event of its user: the only way in which states change. With ErrExceptions it has
// changed nothing.
func (s *State) Apply(p *Policy, ev *Event, fetch Fetcher) error {
	s.view = nil
	switch ev.Kind {
	case Unsee:
		return s.unsee(p, ev.Keys, ev.Now, fetch, ev.DryRun)
	case Forget:
		s.reset()
		s.Links = Links{}
	case Link, Unlink:
		s.Links.From = SetUser(s.Links.From, ev.From, ev.Kind == Link)
	case Linked:
		s.touch(p, ev.Logged, ev.Now) // the link ends when this state expires
		s.Links.Into = SetUser(s.Links.Into, ev.From, true)
	case Unlinked:
		s.Links.Into = SetUser(s.Links.Into, ev.From, false)
	case Imported:
		s.touch(p, ev.Logged, ev.Now)
		s.Links.Imported = true
	case Delivered:
		s.deliver(p, ev.Keys, p.Clamp(ev.At, ev.Logged), ev.Now)
	default:
		return s.see(p, ev.Keys, p.Clamp(ev.At, ev.Logged), ev.Now, fetch)
	}
	return nil
}
