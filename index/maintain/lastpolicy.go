package maintain

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"jianguo/index"
	"jianguo/internal/sqlite"
)

// LastPolicy returns the policy that most of the last thousand articles of a catalogue were judged
// by, with the thresholds of this program, and the time of the last arrival.
func LastPolicy(ctx context.Context, file string) (p index.Policy, at time.Time, err error) {
	db, err := sqlite.Open(file, sqlite.Reads, "NORMAL")
	if err != nil {
		return p, at, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var detail string
	err = db.QueryRowContext(ctx, `WITH latest AS
			(SELECT policy, arrived_at FROM items ORDER BY ordinal DESC LIMIT 1000)
		SELECT detail, (SELECT max(arrived_at) FROM latest) FROM latest JOIN stamps ON number = policy
		GROUP BY policy ORDER BY count(*) DESC LIMIT 1`).Scan(&detail, (*sqlite.Millis)(&at))
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("index: %s: nothing has arrived: %w", file, index.ErrNotFound)
	}
	var stored index.Policy
	if err == nil {
		err = json.Unmarshal([]byte(detail), &stored)
	}
	p = index.DefaultPolicy().At(stored.Strictness)
	p.Rules, p.Distance, p.Suspects, p.Window, p.Cap = stored.Rules, stored.Distance, stored.Suspects, stored.Window,
		stored.Cap
	return p, at, err
}
