package index

import (
	"context"
	"database/sql"
	"slices"
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
	for r := range sqlite.Rows(ctx, db, `SELECT arrived_at / 60000, verdict, coalesce(of, 0) FROM items
		WHERE verdict != ? ORDER BY ordinal DESC`, Withdrawn) {
		var minute int64
		var v Verdict
		var of uint32
		if must.Do(r.Scan(&minute, &v, &of)); f.suspects != nil && minute != f.minute {
			return // another one
		}
		f.arrive(minute, v, of)
	}
}

// rate counts events in this second and the one before.
type rate struct {
	mu     sync.Mutex
	counts [rateSpan]int64 // guarded by mu, like all fields
	starts [rateSpan]int64 // the second of each count
}

const rateSpan = 2

func (r *rate) add(at time.Time, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := at.Unix()
	i := now % rateSpan
	if r.starts[i] != now {
		r.starts[i], r.counts[i] = now, 0
	}
	r.counts[i] += int64(n)
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
	events []Event // without gaps; what stands in it does not change
}

const recentEvents = 4096 // at least, and twice as many at most

// add adds the events of a commit, whose numbers continue those before.
func (r *recent) add(events []Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events)+len(events) > 2*recentEvents {
		last := r.events[max(0, len(r.events)-recentEvents):]
		r.events = append(make([]Event, 0, 2*recentEvents), last...)
	}
	r.events = append(r.events, events...)
}

// after returns up to limit events after a number, or false if not all of them are held.
func (r *recent) after(number uint64, limit int) ([]Event, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.events) == 0 || number+1 < r.events[0].Number || number > r.events[len(r.events)-1].Number {
		return nil, false
	}
	rest := r.events[number+1-r.events[0].Number:]
	return slices.Clone(rest[:min(max(limit, 0), len(rest))]), true
}
