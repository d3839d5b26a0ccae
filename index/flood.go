package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"jianguo/index/read"
	"jianguo/index/resident"
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

// loadFlood counts the last minute of the catalogue.
func (x *catalogue) loadFlood(ctx context.Context) error {
	x.flood = flood{}
	enough := errors.New("another minute")
	err := each(ctx, x.reader, `SELECT arrived_at / 60000, verdict, coalesce(of, 0) FROM items WHERE verdict != ? ORDER BY ordinal DESC`, func(r *sql.Rows) error {
		var minute int64
		var v Verdict
		var of uint32
		if err := r.Scan(&minute, &v, &of); err != nil {
			return err
		}
		if x.flood.suspects != nil && minute != x.flood.minute {
			return enough
		}
		x.flood.arrive(minute, v, of)
		return nil
	}, Withdrawn)
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// stem sets the earlier text of a suspect aside if it has met too many in this minute: a
// decision of the service itself, which editors can undo.
func (b *batch) stem(r *itemRow, limit int) {
	n := b.x.flood.arrive(r.arrivedAt/60000, r.verdict, uint32(r.of.Int64))
	if limit == 0 || n < limit {
		return
	}
	v := b.version(uint32(r.of.Int64))
	d := &decision{batch: b, cluster: b.x.clusters.Resolve(v.state.cluster), item: v.ordinal, req: DecisionRequest{Kind: Aside, Item: v.id, By: "jianguo",
		At: time.UnixMilli(r.arrivedAt), Reason: fmt.Sprintf("%d suspects in a minute", n)}}
	d.mark(v, resident.Aside)
	d.log()
	b.asides = append(b.asides, v.id)
}

// Exemptions lists the decisions in force that keep texts from being compared, the last one
// first: what editors exempted, and what was set aside.
func (x *Index) Exemptions(ctx context.Context, limit int) ([]Decision, error) {
	list, err := read.DecisionsWhere(ctx, x.reader, `d.kind IN (?, ?) AND NOT EXISTS (SELECT 1 FROM decisions u WHERE u.kind = 'undo' AND u.other = d.number)
		ORDER BY d.number DESC LIMIT ?`, Exempt, Aside, limit)
	if err != nil {
		return nil, fmt.Errorf("index: exemptions: %w", err)
	}
	return list, nil
}
