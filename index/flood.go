package index

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// flood counts the suspects of each text in the present minute of the stream. It follows from the
// rows of that minute, so that a restart changes nothing. Guarded by Index.write.
type flood struct {
	minute   int64
	suspects map[uint32]int // by the earlier text
}

// arrive counts a version as it was judged on arrival, and returns the count of its earlier text.
func (f *flood) arrive(minute int64, v Verdict, of uint32) int {
	if f.minute != minute || f.suspects == nil {
		f.minute, f.suspects = minute, map[uint32]int{}
	}
	if v != Suspect {
		return 0
	}
	f.suspects[of]++
	return f.suspects[of]
}

// load counts the last minute of a catalogue. Package must ends it.
func (f *flood) load(ctx context.Context, db *sql.DB) {
	*f = flood{}
	for r := range sqlite.Rows(ctx, db, `SELECT arrived_at / 60000, verdict, coalesce(of, 0) FROM items WHERE verdict != ? ORDER BY ordinal DESC`, Withdrawn) {
		var minute int64
		var v Verdict
		var of uint32
		if must.Do(r.Scan(&minute, &v, &of)); f.suspects != nil && minute != f.minute {
			return // another one
		}
		f.arrive(minute, v, of)
	}
}

// rate counts events in each of the last rateSpan seconds.
type rate struct {
	mu     sync.Mutex
	counts [rateSpan]int64 // guarded by mu, like all fields
	starts [rateSpan]int64 // the second of each count
	began  int64
}

const rateSpan = 60

func (r *rate) add(at time.Time, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := at.Unix()
	if r.began == 0 {
		r.began = now
	}
	i := now % rateSpan
	if r.starts[i] != now {
		r.starts[i], r.counts[i] = now, 0
	}
	r.counts[i] += int64(n)
}

// perMinute returns the number of events in the last minute, and the part of this
// minute that was counted: less than a minute right after a start.
func (r *rate) perMinute(at time.Time) (n int64, watched time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := at.Unix()
	for i, second := range r.starts {
		if second <= now && now-second < rateSpan {
			n += r.counts[i]
		}
	}
	return n, time.Duration(min(rateSpan, max(0, now-r.began+1))) * time.Second
}

// lately returns the number of events in the last complete second, or in the present
// second if that is higher.
func (r *rate) lately(at time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := int64(0)
	for _, second := range [2]int64{at.Unix() - 1, at.Unix()} {
		if i := second % rateSpan; r.starts[i] == second {
			n = max(n, r.counts[i])
		}
	}
	return n
}

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
