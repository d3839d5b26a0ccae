package reindex

import (
	"context"
	"database/sql"
	"fmt"

	"jianguo/index/resident"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Change is a version that has another form by the next overlay.
type Change struct {
	Ordinal       uint32
	Before, After resident.Posting // what only one form has; all of both where Turned
	Exact         uint64           // the key of its normal form, where it is not Blank
	Blank, Turned bool             // by the next form; only by one of the two
}

// Changes reads the versions after an ordinal that next gives another form than force does.
func Changes(ctx context.Context, db *sql.DB, force, next Overlay, after uint32) (all []Change, err error) {
	if force == next {
		return nil, nil
	}
	query := fmt.Sprintf(`SELECT f.ordinal, f.exact, f.fingerprint, f.sketch, n.exact, n.fingerprint, n.sketch
		FROM %s f JOIN %s n ON n.ordinal = f.ordinal WHERE f.ordinal IN (
			SELECT place & 0xffffffff FROM overlay WHERE place > ?1 + ?3 AND place <= ?1 + 0xffffffff
			UNION SELECT place & 0xffffffff FROM overlay WHERE place > ?2 + ?3 AND place <= ?2 + 0xffffffff)
		AND (f.exact IS NOT n.exact OR f.fingerprint != n.fingerprint OR f.sketch IS NOT n.sketch)`,
		force.Compared(), next.Compared())
	err = must.Catch(func() {
		for r := range sqlite.Rows(ctx, db, query, force.Place(0), next.Place(0), after) {
			var c Change
			var was, is Form
			must.Do(r.Scan(&c.Ordinal, &was.Exact, &was.Fingerprint, &was.Sketch,
				&is.Exact, &is.Fingerprint, &is.Sketch))
			c.Blank, c.Turned = is.Exact == nil, (was.Exact == nil) != (is.Exact == nil)
			c.Before = must.Get(resident.DecodePosting(c.Ordinal, was.Fingerprint, was.Sketch))
			c.After = must.Get(resident.DecodePosting(c.Ordinal, is.Fingerprint, is.Sketch))
			if !c.Turned { // what is the same keeps its place among newer ones
				c.Before, c.After = c.Before.Without(&c.After), c.After.Without(&c.Before)
			}
			if !c.Blank {
				c.Exact = resident.ExactKey(is.Exact)
			}
			all = append(all, c)
		}
	})
	return all, err
}
