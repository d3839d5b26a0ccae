package reindex

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// Keys of the table meta.
const (
	InForce  = "overlay" // the recipe that versions are compared by
	Underway = "reindex" // the recipe that is being made
)

// Overlay is a recipe's rows in the table overlay, and how far they go. The zero
// Overlay has none: versions are compared by the rows of items.
type Overlay struct {
	Recipe  int64  `json:"recipe"`  // stamps.number; 0: there are no rows
	Through uint32 `json:"through"` // the last ordinal that was read: newer versions keep their own form

	Items   int64 `json:"items"`   // versions read that were of another recipe
	Changed int64 `json:"changed"` // of those, have a row
	Failed  int64 `json:"failed"`  // of those, keep their form because their text could not be analysed
}

func (o *Overlay) Place(ordinal uint32) int64 { return o.Recipe<<32 | int64(ordinal) }

// Compared is the table, or the query in parentheses, that versions are compared
// by: the columns ordinal, id, arrived_at, verdict, cluster, exact, fingerprint and
// sketch.
func (o *Overlay) Compared() string {
	if o.Recipe == 0 {
		return `items`
	}
	form := func(column string) string {
		return fmt.Sprintf(`CASE WHEN o.place IS NULL THEN i.%[1]s ELSE o.%[1]s END AS %[1]s`, column)
	}
	return fmt.Sprintf(`(SELECT i.ordinal, i.id, i.arrived_at, i.verdict, i.cluster, %s, %s, %s
		FROM items i LEFT JOIN overlay o ON o.place = %d + i.ordinal AND i.ordinal <= %d)`,
		form("exact"), form("fingerprint"), form("sketch"), o.Place(0), o.Through)
}

// SnapshotOf is the identity that a snapshot of the catalogue must have: other
// forms have other postings.
func (o *Overlay) SnapshotOf(identity int64) int64 {
	if o.Recipe == 0 {
		return identity
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(identity))
	b = binary.LittleEndian.AppendUint64(b, uint64(o.Place(o.Through)))
	return int64(xxh3.Hash(b) >> 1)
}

// Stored reads what meta says of an overlay, the zero Overlay for nothing.
func Stored(ctx context.Context, db sqlite.Querier, key string) (o Overlay, err error) {
	var text []byte
	err = db.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = ?`, key).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return o, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, wrap.Err(err, "meta %s", key)
}

// Form is what a version is compared by.
type Form struct {
	Exact       []byte // nil: blank
	Fingerprint int64
	Sketch      []byte
}
