package index

import (
	"context"
	"database/sql"
	"errors"

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

// load counts the last minute of a catalogue.
func (f *flood) load(ctx context.Context, db *sql.DB) error {
	*f = flood{}
	enough := errors.New("another minute")
	err := sqlite.Each(ctx, db, `SELECT arrived_at / 60000, verdict, coalesce(of, 0) FROM items WHERE verdict != ? ORDER BY ordinal DESC`, func(r *sql.Rows) error {
		var minute int64
		var v Verdict
		var of uint32
		if err := r.Scan(&minute, &v, &of); err != nil {
			return err
		}
		if f.suspects != nil && minute != f.minute {
			return enough
		}
		f.arrive(minute, v, of)
		return nil
	}, Withdrawn)
	if errors.Is(err, enough) {
		return nil
	}
	return err
}
