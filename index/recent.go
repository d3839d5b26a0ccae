package index

import "sync"

// recent holds the last committed events in order, so that a client that follows the
// log closely does not read them from the catalogue.
type recent struct {
	mu     sync.RWMutex
	events []Event // a ring; event n is at n % recentEvents
	first  uint64  // number of the oldest event in the ring
	next   uint64  // number of the next event; 0: there are none yet
}

const recentEvents = 4096

// add adds the events of a commit, whose numbers continue those of the ring.
func (r *recent) add(events []Event) {
	if len(events) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == 0 {
		r.events, r.first = make([]Event, recentEvents), events[0].Number
	}
	for _, e := range events {
		r.events[e.Number%recentEvents] = e
		r.next = e.Number + 1
	}
	if r.next-r.first > recentEvents {
		r.first = r.next - recentEvents
	}
}

// after returns up to limit events after a number, or false if the ring does not
// hold all of them.
func (r *recent) after(number uint64, limit int) ([]Event, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.next == 0 || number+1 < r.first || number+1 > r.next {
		return nil, false
	}
	n := min(limit, int(r.next-number-1))
	var events []Event
	for k := range max(n, 0) {
		events = append(events, r.events[(number+1+uint64(k))%recentEvents])
	}
	return events, true
}
