package index

import (
	"context"
	"time"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// How a rejection was chosen for review, and the result of the review.
const (
	DrawnRandom = "random" // at random: precision is measured on these
	DrawnDoubt  = "doubt"  // among the least certain ones

	FoundRight  = "right"
	FoundWrong  = "wrong"
	FoundUnsure = "unsure"
	FoundUndone = "undone" // revokes the last review of the item
)

// Review is the review of one rejection.
type Review struct {
	At      time.Time
	By      string
	Item    string // id
	Drawn   string
	Finding string
	Reason  string
}

// Label is the judgement of editors about a pair of articles.
type Label struct {
	A, B   string // ids; A arrived first
	Label  string // same or different
	Reason string
}

// Labels returns the labels of pairs that follow from decisions and reviews, to
// measure the judge: an item, and what it was a copy of before its release, or is since it was rejected. It omits
// decisions and reviews that were revoked or are unsure. The last label of a pair counts.
func (x *catalogue) Labels(ctx context.Context) ([]Label, error) {
	const query = `SELECT a.id, b.id, CASE d.kind WHEN 'release' THEN 'different' ELSE 'same' END, d.reason, d.at
		FROM decisions d JOIN json_each(d.effects) e JOIN items b ON b.ordinal = e.value ->> 'item'
		JOIN items a ON a.ordinal = e.value -> iif(d.kind = 'release', 'before', 'after') ->> 'of'
		WHERE d.kind IN ('release', 'reject') AND NOT EXISTS (SELECT 1 FROM decisions u
			WHERE u.kind = 'undo' AND u.other = d.number)
		UNION ALL
		SELECT a.id, b.id, CASE r.finding WHEN 'right' THEN 'same' ELSE 'different' END, r.reason, r.at
		FROM reviews r JOIN items b ON b.ordinal = r.ordinal JOIN items a ON a.ordinal = b.of
		WHERE r.finding IN ('right', 'wrong') AND r.number = (SELECT max(number) FROM reviews q
			WHERE q.ordinal = r.ordinal)
		ORDER BY 5`
	out, err := must.Try(func() (out []Label) {
		at := map[[2]string]int{}
		for r := range sqlite.Rows(ctx, x.reader, query) {
			var l Label
			var when int64
			must.Do(r.Scan(&l.A, &l.B, &l.Label, &l.Reason, &when))
			pair := [2]string{l.A, l.B}
			if i, known := at[pair]; known {
				out[i] = l
				continue
			}
			at[pair] = len(out)
			out = append(out, l)
		}
		return out
	})
	return out, wrap.Err(err, "index: labels")
}
