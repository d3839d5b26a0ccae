package verify

import (
	"context"
	"database/sql"

	"jianguo/compare"
	"jianguo/index/reindex"
	"jianguo/internal/sqlite"
)

// summaries are the reindexes that the catalogue knows: the one in force and the
// one under way. hash is that of a recipe's number.
func summaries(ctx context.Context, db *sql.DB, hash func(recipe int64) string) ([]reindex.Summary, error) {
	var found []reindex.Summary
	for _, key := range []string{reindex.InForce, reindex.Underway} {
		o, err := reindex.Stored(ctx, db, key)
		if err != nil {
			return nil, err
		}
		if o.Recipe != 0 {
			s := o.Summary(hash(o.Recipe))
			s.Unfinished = key == reindex.Underway
			found = append(found, s)
		}
	}
	return found, nil
}

// verifyForms proves that the rows which meta speaks of are there and whole; last is
// the newest ordinal.
func verifyForms(
	ctx context.Context, db *sql.DB, last uint32, hash func(recipe int64) string, problem func(string, ...any),
) error {
	for _, key := range []string{reindex.InForce, reindex.Underway} {
		o, err := reindex.Stored(ctx, db, key)
		if err != nil || o.Recipe == 0 {
			if err != nil {
				return err
			}
			continue
		}
		if hash(o.Recipe) == "" {
			problem("%s: recipe %d is unknown", key, o.Recipe)
		}
		if o.Through > last {
			problem("%s: it goes through item %d, and there are %d", key, o.Through, last)
		}
		rows := int64(0)
		err = sqlite.Each(ctx, db, `SELECT o.place & 0xffffffff, o.exact, o.sketch, i.ordinal IS NULL FROM overlay o
			LEFT JOIN items i ON i.ordinal = o.place & 0xffffffff
			WHERE o.place > ? AND o.place <= ?`, func(rs *sql.Rows) error {
			var ordinal uint32
			var exact, encoded sql.RawBytes
			var stray bool
			if err := rs.Scan(&ordinal, &exact, &encoded, &stray); err != nil {
				return err
			}
			rows++
			if stray {
				problem("%d: form of no item", ordinal)
			}
			if exact != nil && len(exact) != 16 {
				problem("%d: exact hash of %d bytes in its form", ordinal, len(exact))
			}
			if _, err := compare.DecodeSketch(encoded); len(encoded) > 0 && err != nil {
				problem("%d: sketch of its form: %v", ordinal, err)
			}
			return nil
		}, o.Place(0), o.Place(o.Through))
		if err != nil {
			return err
		}
		if rows != o.Changed {
			problem("%s: %d forms of recipe %s, and %d were made", key, rows, hash(o.Recipe), o.Changed)
		}
	}
	return nil
}
