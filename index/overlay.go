package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// The overlay. A row of items says by which fingerprint a version was judged,
// and never changes. What later articles are compared with is its form: that of
// its own row, or, after a reindex, one of the recipe that is in force, from the
// table overlay. There is a row only where the two differ: a new word in the
// dictionary touches few articles.
//
// Rows of two recipes may lie side by side, those in force and those that are
// being made. Meta holds what is known of either, under overlayKey and
// reindexKey; one transaction makes the second the first (reindex.go). Rows of
// other recipes mean nothing, and are removed.

// Keys of meta.
const (
	overlayKey = "overlay" // in force
	reindexKey = "reindex" // under way
)

// overlay is a recipe's rows, and how far they go.
type overlay struct {
	Recipe  int64  `json:"recipe"`  // stamps.number; 0: there are none
	Through uint32 `json:"through"` // the last ordinal looked at: newer versions have their own form

	Items       int64 `json:"items"`        // of those looked at, were of another recipe
	Changed     int64 `json:"changed"`      // of those, have a row
	WithoutText int64 `json:"without_text"` // of those, have no kept text, and keep their form
	Failed      int64 `json:"failed"`       // likewise: their text could not be worked on
}

func parseOverlay(text string) (o overlay, err error) {
	if text == "" {
		return o, nil
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return o, fmt.Errorf("overlay %q: %w", text, err)
	}
	return o, nil
}

// place is the key of an ordinal's row.
func (o *overlay) place(ordinal uint32) int64 { return o.Recipe<<32 | int64(ordinal) }

// compared is what a query reads versions from: their forms instead of what
// they were judged by, and besides what start-up reads.
func (o *overlay) compared() string {
	if o.Recipe == 0 {
		return `items`
	}
	form := func(column string) string {
		return fmt.Sprintf(`CASE WHEN o.place IS NULL THEN i.%[1]s ELSE o.%[1]s END AS %[1]s`, column)
	}
	return fmt.Sprintf(`(SELECT i.ordinal, i.id, i.arrived_at, i.verdict, i.cluster, %s, %s, %s
		FROM items i LEFT JOIN overlay o ON o.place = %d + i.ordinal AND i.ordinal <= %d)`,
		form("exact"), form("fingerprint"), form("sketch"), o.place(0), o.Through)
}

// snapshotOf is what a snapshot of the catalogue must be of: other forms have
// other postings.
func (o *overlay) snapshotOf(identity int64) int64 {
	if o.Recipe == 0 {
		return identity
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(identity))
	b = binary.LittleEndian.AppendUint64(b, uint64(o.place(o.Through)))
	return int64(xxh3.Hash(b) >> 1)
}

// Reindexed is what is known of the last reindex.
type Reindexed struct {
	Recipe      string `json:"recipe"`
	Through     uint32 `json:"through"` // ordinal of the last version looked at
	Changed     int64  `json:"changed"` // versions whose form is another since
	WithoutText int64  `json:"without_text"`
	Failed      int64  `json:"failed,omitempty"`
	Unfinished  bool   `json:"unfinished,omitempty"` // and not in force
}

// rowQuerier is a pool or a transaction.
type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// overlayAt reads what meta says of an overlay, the zero overlay for nothing.
func overlayAt(ctx context.Context, db rowQuerier, key string) (overlay, error) {
	var text string
	err := db.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = ?`, key).Scan(&text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return overlay{}, fmt.Errorf("meta %s: %w", key, err)
	}
	return parseOverlay(text)
}
