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
	mu          sync.Mutex
	second      int64 // guarded by mu, like all fields
	now, before int64
}

func (r *rate) add(at time.Time, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(at)
	r.now += int64(n)
}

// lately returns the number of events in the last complete second, or in the present
// second if that is higher.
func (r *rate) lately(at time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(at)
	return max(r.now, r.before)
}

func (r *rate) turn(at time.Time) {
	switch at.Unix() - r.second {
	case 0:
	case 1:
		r.now, r.before = 0, r.now
	default:
		r.now, r.before = 0, 0
	}
	r.second = at.Unix()
}
