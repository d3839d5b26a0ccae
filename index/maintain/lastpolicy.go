package maintain

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"jianguo/index"
	"jianguo/internal/sqlite"
)

// LastPolicy returns the policy that a catalogue records, with the thresholds of this program, and the time of the last
// arrival.
func LastPolicy(ctx context.Context, file string) (p index.Policy, at time.Time, err error) {
	db, err := sqlite.Open(file, sqlite.Reads, "NORMAL")
	if err != nil {
		return p, at, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.QueryRowContext(ctx, `SELECT max(arrived_at) FROM (SELECT arrived_at FROM items ORDER BY ordinal DESC
		LIMIT 1000) HAVING count(*) > 0`).Scan((*sqlite.Millis)(&at))
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("nothing has arrived")
	}
	if err != nil {
		return p, at, err
	}
	recorded, err := index.Recorded(ctx, db)
	return cmp.Or(recorded, new(index.DefaultPolicy())).Now(), at, err
}
