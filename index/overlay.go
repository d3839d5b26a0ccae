package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"jianguo/index/resident"
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

// form is what a version is compared by.
type form struct {
	exact       []byte // nil: blank
	fingerprint int64
	sketch      []byte
}

const formQuery = `SELECT exact, fingerprint, sketch FROM overlay WHERE place = ?`

// formOf is the form of a version.
func (b *batch) formOf(r *itemRow) (form, error) {
	f := form{r.exact, r.fingerprint, r.sketch}
	o := &b.x.overlay
	if o.Recipe == 0 || r.ordinal > o.Through {
		return f, nil
	}
	var other form
	err := b.x.w.formAt.QueryRowContext(b.ctx, o.place(r.ordinal)).Scan(&other.exact, &other.fingerprint, &other.sketch)
	if errors.Is(err, sql.ErrNoRows) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("form of ordinal %d: %w", r.ordinal, err)
	}
	return other, nil
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

// reindexed are the reindexes that the catalogue knows: the one in force, the
// one under way, or none.
func (x *Index) reindexed(ctx context.Context) ([]Reindexed, error) {
	var found []Reindexed
	for _, key := range []string{overlayKey, reindexKey} {
		o, err := overlayAt(ctx, x.reader, key)
		if err != nil {
			return nil, err
		}
		if o.Recipe != 0 {
			found = append(found, Reindexed{Recipe: x.stampHash(o.Recipe), Through: o.Through, Changed: o.Changed,
				WithoutText: o.WithoutText, Failed: o.Failed, Unfinished: key == reindexKey})
		}
	}
	return found, nil
}

// overlayAt reads what meta says of an overlay, the zero overlay for nothing.
func overlayAt(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, key string) (overlay, error) {
	var text string
	err := db.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = ?`, key).Scan(&text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return overlay{}, fmt.Errorf("meta %s: %w", key, err)
	}
	return parseOverlay(text)
}

// warnOfRecipe says so where the first or the last versions are compared by
// another recipe than new ones: the whole table would take a while to ask.
func (x *Index) warnOfRecipe(ctx context.Context) error {
	if x.cfg.Recipe == nil || x.nextOrdinal == 1 {
		return nil
	}
	var first, last int64
	err := x.reader.QueryRowContext(ctx, `SELECT (SELECT recipe FROM items WHERE ordinal = 1), (SELECT recipe FROM items WHERE ordinal = ?)`, x.nextOrdinal-1).Scan(&first, &last)
	if err != nil {
		return err
	}
	if x.overlay.Recipe != 0 {
		if first = x.overlay.Recipe; x.overlay.Through == x.nextOrdinal-1 {
			last = first
		}
	}
	for _, theirs := range []int64{first, last} {
		if theirs != x.recipeStamp {
			x.log.WarnContext(ctx, "older items have fingerprints of another recipe, and meet new texts less well: run `jianguo reindex`", "recipe", x.recipe, "theirs", x.stampHash(theirs))
			return nil
		}
	}
	return nil
}

// recipes are those that versions are compared by, nil where there is only one.
// Versions whose text was not kept are told of by Reindexed.
func (x *Index) recipes(ctx context.Context) ([]string, error) {
	var hashes []string
	err := each(ctx, x.reader, `SELECT hash FROM stamps WHERE kind = 'recipe' AND (number = ?1 OR number IN (SELECT DISTINCT recipe FROM items WHERE ordinal > ?2)) ORDER BY number`, func(rows *sql.Rows) error {
		var hash string
		err := rows.Scan(&hash)
		hashes = append(hashes, hash)
		return err
	}, x.overlay.Recipe, x.overlay.Through)
	if len(hashes) < 2 {
		return nil, err
	}
	return hashes, err
}

// verifyOverlay proves that the rows which meta tells of are there and whole.
func (x *Index) verifyOverlay(ctx context.Context, r *Report) error {
	for _, key := range []string{overlayKey, reindexKey} {
		o, err := overlayAt(ctx, x.reader, key)
		if err != nil || o.Recipe == 0 {
			if err != nil {
				return err
			}
			continue
		}
		if x.stampHash(o.Recipe) == "" {
			r.problem("%s: recipe %d is unknown", key, o.Recipe)
		}
		if o.Through >= x.nextOrdinal {
			r.problem("%s: it goes through item %d, and there are %d", key, o.Through, x.nextOrdinal-1)
		}
		rows := int64(0)
		err = each(ctx, x.reader, `SELECT o.place & 0xffffffff, o.exact, o.sketch, i.ordinal IS NULL FROM overlay o
			LEFT JOIN items i ON i.ordinal = o.place & 0xffffffff WHERE o.place > ? AND o.place <= ?`, func(rs *sql.Rows) error {
			var ordinal uint32
			var exact, encoded sql.RawBytes
			var stray bool
			if err := rs.Scan(&ordinal, &exact, &encoded, &stray); err != nil {
				return err
			}
			rows++
			if stray {
				r.problem("%d: form of no item", ordinal)
			}
			if exact != nil && len(exact) != 16 {
				r.problem("%d: exact hash of %d bytes in its form", ordinal, len(exact))
			}
			if _, err := resident.DecodePosting(0, encoded); err != nil {
				r.problem("%d: sketch of its form: %v", ordinal, err)
			}
			return nil
		}, o.place(0), o.place(o.Through))
		if err != nil {
			return err
		}
		if rows != o.Changed {
			r.problem("%s: %d forms of recipe %s, and %d were made", key, rows, x.stampHash(o.Recipe), o.Changed)
		}
	}
	return nil
}
