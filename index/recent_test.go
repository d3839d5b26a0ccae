package index

import "testing"

// TestRecentEvents: the last events are held, not many more, and none is returned that is not.
func TestRecentEvents(t *testing.T) {
	var r recent
	if _, ok := r.after(0, 10); ok {
		t.Fatal("one without events answered")
	}
	const first = 100 // the catalogue was opened with 99
	next := uint64(first)
	for next < first+3*recentEvents {
		var batch []Event
		for range 1 + next%300 {
			batch = append(batch, Event{Number: next})
			next++
		}
		r.add(batch)
		held := max(first, next-min(next, recentEvents))
		for _, after := range []uint64{0, held - 2, held - 1, held, next - 2, next - 1, next} {
			events, ok := r.after(after, 7)
			if oldest := r.events[0].Number; oldest > held || len(r.events) > 2*recentEvents || ok != (after >= oldest-1 && after < next) {
				t.Fatalf("after %d of %d to %d: %v", after, held, next-1, ok)
			}
			if ok && len(events) != int(min(7, next-1-after)) {
				t.Fatalf("after %d of %d to %d: %d events", after, held, next-1, len(events))
			}
			for k, e := range events {
				if e.Number != after+1+uint64(k) {
					t.Fatalf("event %d stands where %d should", e.Number, after+1+uint64(k))
				}
			}
		}
	}
}
