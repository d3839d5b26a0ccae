package index

import (
	"cmp"
	"context"
	"database/sql"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// flood counts the suspects of each text in the present minute of the stream. It follows from the
// rows of that minute, so that a restart changes nothing. Guarded by writeMu.
type flood struct {
	minute   int64
	suspects map[uint32]suspectCount // by the earlier text
	others   map[[2]int64]bool
}

// suspectCount is how many suspects a text has met in the minute, and when the first one, in milliseconds since 1970.
type suspectCount struct {
	n     int
	first int64
}

// count counts an id as it was judged on its arrival, and returns what its earlier text has met; zero: it does not
// count again. Suspects of another source than that of the earlier text count once for each source: its articles
// alone do not decide about those of others.
func (f *flood) count(at int64, v Verdict, of uint32, source, ofSource sql.NullInt64) suspectCount {
	if minute := at / 60000; f.minute != minute || f.suspects == nil {
		f.minute, f.suspects, f.others = minute, map[uint32]suspectCount{}, map[[2]int64]bool{}
	}
	if v != Suspect {
		return suspectCount{}
	}
	m, other := f.suspects[of], [2]int64{int64(of), source.Int64}
	again := source != ofSource && f.others[other]
	if m.first = min(cmp.Or(m.first, at), at); !again { // the first of all: load meets the last of a source first
		m.n++
	}
	if f.suspects[of], f.others[other] = m, true; again {
		return suspectCount{}
	}
	return m
}

// load counts the last minute of a catalogue. It panics on errors (must).
func (f *flood) load(ctx context.Context, db *sql.DB) {
	*f = flood{}
	for r := range sqlite.Rows(ctx, db, `SELECT i.arrived_at, i.verdict, coalesce(i.of, 0), i.source, o.source
		FROM items i JOIN events e ON e.number = i.event LEFT JOIN items o ON o.ordinal = i.of
		WHERE i.verdict != ? AND e.cause = ? ORDER BY i.ordinal DESC`, Withdrawn, CauseIngest) {
		var at int64
		var v Verdict
		var of uint32
		var source, ofSource sql.NullInt64
		if must.Do(r.Scan(&at, &v, &of, &source, &ofSource)); f.suspects != nil && at/60000 != f.minute {
			return // another one
		}
		f.count(at, v, of, source, ofSource)
	}
}
