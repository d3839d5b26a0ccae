package state

import "slices"

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
