package browse

import (
	"context"
	"database/sql"
	"time"

	"jianguo/index"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Copy is an item that arrived as a copy of another one. Origin published first, as far
// as times of publication say; else it arrived first.
type Copy struct {
	Origin, Copier *index.Brief
}

// Behind is how long after the origin the copy was published; false: a time of publication
// is not known, or not credible.
func (c *Copy) Behind() (behind time.Duration, known bool) {
	if !index.Credible(c.Origin.Published, c.Origin.Arrived) || !index.Credible(c.Copier.Published, c.Copier.Arrived) {
		return 0, false
	}
	return c.Copier.Published.Sub(*c.Origin.Published), true
}

// CopyQuery selects copies, the last arrived first.
type CopyQuery struct {
	// Origins and Copiers are sources; empty: all. If only one of the two is given, copies among
	// these sources do not count.
	Origins, Copiers []string
	Since, Before    time.Time // of arrival; zero: not bounded
	After            uint32    // from CopyPage.Next
	Limit            int
}

// CopyPage is one page of copies; Next is 0 at the end.
type CopyPage struct {
	Copies []Copy
	Next   uint32
	Count  int // on all pages
}

// copyConditions are those of a query.
func (b *Model) copyConditions(ctx context.Context, q *CopyQuery) (where conditions) {
	where.and(`at >= ?`, max(q.Since.UnixMilli(), 0))
	if !q.Before.IsZero() {
		where.and(`at < ?`, q.Before.UnixMilli())
	}
	for i, names := range [][]string{q.Origins, q.Copiers} {
		if len(names) == 0 {
			continue
		}
		var numbers []uint32
		for _, name := range names {
			numbers = append(numbers, uint32(b.sourceNumber(ctx, name)))
		}
		is, other := [2]string{`origin`, `copier`}[i], [2]string{`copier`, `origin`}[i]
		where.and(is+` IN (SELECT value FROM json_each(?))`, sqlite.List(numbers))
		if len(q.Origins) == 0 || len(q.Copiers) == 0 {
			where.and(other+` NOT IN (SELECT value FROM json_each(?))`, sqlite.List(numbers))
		}
	}
	return where
}

// Copies lists copies.
func (b *Model) Copies(ctx context.Context, q CopyQuery) (*CopyPage, error) {
	return must.Try(func() *CopyPage {
		where := b.copyConditions(ctx, &q)
		page := new(CopyPage)
		page.Count = count(ctx, b.reader, "copies", `SELECT count(*) FROM copies WHERE `+where.text, where.args...)
		if q.After != 0 {
			where.and(`ordinal < ?`, q.After)
		}
		query := `SELECT ordinal, of FROM copies WHERE ` + where.text + ` ORDER BY ordinal DESC LIMIT ?`
		pairs := read(ctx, b.reader, "copies", query, func(r *sql.Rows, p *[2]uint32) error {
			return r.Scan(&p[0], &p[1])
		}, append(where.args, q.Limit+1)...)
		if len(pairs) > q.Limit {
			pairs = pairs[:q.Limit]
			page.Next = pairs[q.Limit-1][0]
		}
		var ordinals []uint32
		for _, p := range pairs {
			ordinals = append(ordinals, p[0], p[1])
		}
		briefs := must.Get(b.cat.Briefs(ctx, ordinals))
		for _, p := range pairs {
			c := Copy{Origin: briefs[p[1]], Copier: briefs[p[0]]}
			if c.Origin == nil || c.Copier == nil {
				continue
			}
			if behind, known := c.Behind(); known && behind < 0 {
				c.Origin, c.Copier = c.Copier, c.Origin
			}
			page.Copies = append(page.Copies, c)
		}
		return page
	})
}
