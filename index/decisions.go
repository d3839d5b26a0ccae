package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// DecisionQuery selects decisions.
type DecisionQuery struct {
	Cluster uint32
	Item    string
	After   uint64
	Limit   int // 0: 50
}

// Decisions lists decisions, the last one first.
func (x *Index) Decisions(ctx context.Context, q DecisionQuery) ([]Decision, error) {
	where, args := `d.number > ?`, []any{q.After}
	if q.Cluster != 0 {
		where, args = where+` AND (d.cluster = ? OR d.kind IN ('merge', 'reject') AND d.other = ?)`, append(args, q.Cluster, q.Cluster)
	}
	if q.Item != "" {
		list, err := x.ordinalsOf(ctx, q.Item)
		if err != nil {
			return nil, fmt.Errorf("index: decisions: %w", err)
		}
		where, args = where+` AND d.number IN (SELECT number FROM decisions WHERE item IN (SELECT value FROM json_each(?))
			UNION SELECT decision FROM decision_items WHERE item IN (SELECT value FROM json_each(?)))`, append(args, list, list)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 50
	}
	list, err := x.decisions(ctx, x.reader, where+` ORDER BY d.number DESC LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("index: decisions: %w", err)
	}
	return list, nil
}

// ordinalsOf are the versions of an id as a JSON array, for a query.
func (x *catalogue) ordinalsOf(ctx context.Context, id string) (string, error) {
	var buf [8]uint32
	ordinals := []uint32{}
	for _, ordinal := range x.ids.Get(buf[:0], xxh3.HashString(id)) {
		var stored string
		err := x.reader.QueryRowContext(ctx, `SELECT id FROM items WHERE ordinal = ?`, ordinal).Scan(&stored)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return "", err
		}
		if stored == id {
			ordinals = append(ordinals, ordinal)
		}
	}
	list, err := json.Marshal(ordinals)
	return string(list), err
}

// Decision looks up one entry of the log of decisions.
func (x *Index) Decision(ctx context.Context, number uint64) (*Decision, error) {
	list, err := x.decisions(ctx, x.reader, `d.number = ?`, number)
	if err == nil && len(list) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("index: decision %d: %w", number, err)
	}
	return &list[0], nil
}

// DecisionsBefore lists decisions, the last one first, from before a number
// on (0: from the end).
func (x *Index) DecisionsBefore(ctx context.Context, number uint64, limit int) ([]Decision, error) {
	list, err := x.decisions(ctx, x.reader, `? = 0 OR d.number < ? ORDER BY d.number DESC LIMIT ?`, number, number, limit)
	if err != nil {
		return nil, fmt.Errorf("index: decisions before %d: %w", number, err)
	}
	return list, nil
}
