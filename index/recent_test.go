package index

import "testing"

// TestRecentEvents: the ring returns only events that it holds.
func TestRecentEvents(t *testing.T) {
	var r recent
	if _, ok := r.after(0, 10); ok {
		t.Fatal("an empty ring answered")
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
			if want := after >= held-1 && after < next; ok != want {
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
