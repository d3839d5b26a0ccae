package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// Recorded returns the policy that the last service on a catalogue judged by; nil: none is recorded.
func Recorded(ctx context.Context, db sqlite.Querier) (p *Policy, err error) {
	var detail []byte
	err = db.QueryRowContext(ctx, `SELECT detail FROM meta JOIN stamps ON kind = key AND hash = value
		WHERE key = 'policy'`).Scan(&detail)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(detail, &p)
	}
	return p, wrap.Err(err, "recorded policy")
}

// record makes the policy in force the recorded one, and logs what that changes. For use inside of a transaction.
func (x *catalogue) record(ctx context.Context) {
	was := must.Get(Recorded(ctx, x.conn))
	if was != nil && *was == x.policy {
		return
	}
	x.setMeta(ctx, "policy", x.policy.Hash())
	if was != nil && !x.cfg.Copy {
		x.log.WarnContext(ctx, "articles are judged by another policy from now on", "changed", x.policy.Changes(*was),
			"policy", x.policy.Hash())
	}
}
