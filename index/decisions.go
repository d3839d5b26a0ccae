package index

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/index/resident"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// Decision is one entry of the log of decisions.
type Decision struct {
	Number  uint64    `json:"decision"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Kind    string    `json:"kind"`
	Cluster uint32    `json:"cluster"`
	Item    string    `json:"item,omitempty"`  // the first one of several
	Count   int       `json:"count,omitempty"` // how many items it is about, where that is several
	Other   uint64    `json:"other,omitempty"` // the cluster merged into or joined, or the decision undone
	Reason  string    `json:"reason,omitempty"`
	Undone  bool      `json:"undone,omitempty"`
	Events  []Event   `json:"events,omitempty"` // only of one that was just made
}

// DecisionQuery selects decisions.
type DecisionQuery struct {
	Cluster      uint32
	Item         string
	By, Kind     string
	Before       uint64    // a number; 0: not bounded
	Since, Until time.Time // likewise
	Limit        int       // 0: 50
}

// Decisions lists decisions, the last one first.
func (x *catalogue) Decisions(ctx context.Context, q DecisionQuery) ([]Decision, error) {
	where, args := `1`, []any{}
	if q.Cluster != 0 {
		where, args = where+` AND (d.cluster = ? OR d.kind IN ('merge', 'join', 'reject') AND d.other = ?)`,
			append(args, q.Cluster, q.Cluster)
	}
	if q.Item != "" {
		const versions = `(SELECT ordinal FROM items WHERE id = ? AND ordinal IN (SELECT value FROM json_each(?)))`
		list := sqlite.List(x.tables.IDs.Get(nil, xxh3.HashString(q.Item))) // with those of ids of the same hash
		where, args = where+` AND d.number IN (SELECT number FROM decisions WHERE item IN `+versions+`
			UNION SELECT decision FROM decision_items WHERE item IN `+versions+`)`,
			append(args, q.Item, list, q.Item, list)
	}
	for _, bound := range []struct {
		asked     bool
		condition string
		value     any
	}{{q.By != "", `d.by = ?`, q.By}, {q.Kind != "", `d.kind = ?`, q.Kind}, {q.Before != 0, `d.number < ?`, q.Before},
		{!q.Since.IsZero(), `d.at >= ?`, q.Since.UnixMilli()}, {!q.Until.IsZero(), `d.at < ?`, q.Until.UnixMilli()}} {
		if bound.asked {
			where, args = where+` AND `+bound.condition, append(args, bound.value)
		}
	}
	list, err := decisionsWhere(ctx, x.reader, where+` ORDER BY d.number DESC LIMIT ?`,
		append(args, cmp.Or(max(q.Limit, 0), 50))...)
	return list, wrap.Err(err, "index: decisions")
}

// Decision looks up one entry of the log of decisions.
func (x *catalogue) Decision(ctx context.Context, number uint64) (*Decision, error) {
	list, err := decisionsWhere(ctx, x.reader, `d.number = ?`, number)
	if err == nil && len(list) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("index: decision %d: %w", number, err)
	}
	return &list[0], nil
}

// decisionsWhere lists decisions. where is the end of a query over the decisions d,
// from its condition on.
func decisionsWhere(ctx context.Context, db sqlite.Querier, where string, args ...any) ([]Decision, error) {
	return sqlite.All(ctx, db, func(e *Decision) []any {
		return []any{&e.Number, (*sqlite.Millis)(&e.At), &e.By, &e.Kind, &e.Cluster, &e.Item, &e.Other, &e.Reason,
			&e.Count, &e.Undone}
	}, `SELECT d.number, d.at, d.by, d.kind, d.cluster, coalesce(i.id, ''), coalesce(d.other, 0), d.reason,
		(SELECT count(*) FROM decision_items m WHERE m.decision = d.number),
		EXISTS (SELECT 1 FROM decisions u WHERE u.kind = 'undo' AND u.other = d.number)
		FROM decisions d LEFT JOIN items i ON i.ordinal = d.item WHERE `+where, args...)
}

// Exemptions lists the decisions in force that keep texts from being compared, the last one
// first: what editors exempted, and what was set aside, until its next version.
func (x *Index) Exemptions(ctx context.Context, limit int) ([]Decision, error) {
	list, err := decisionsWhere(ctx, x.reader, `d.kind IN (?, ?)
		AND NOT EXISTS (SELECT 1 FROM decisions u WHERE u.kind = 'undo' AND u.other = d.number)
		AND EXISTS (SELECT 1 FROM current WHERE ordinal = d.item AND flags & ? = 0)
		ORDER BY d.number DESC LIMIT ?`, Exempt, Aside, resident.Superseded, limit)
	return list, wrap.Err(err, "index: exemptions")
}
