package browse

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"jianguo/index"
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

// copiesWhere is the condition of a query, and its arguments.
func (b *Model) copiesWhere(ctx context.Context, q *CopyQuery) (where string, args []any, err error) {
	where, args = `at >= ?`, []any{max(q.Since.UnixMilli(), 0)}
	if !q.Before.IsZero() {
		where, args = where+` AND at < ?`, append(args, q.Before.UnixMilli())
	}
	for i, names := range [][]string{q.Origins, q.Copiers} {
		var list []uint32
		for _, name := range names {
			n, err := b.sourceNumber(ctx, name)
			if err != nil {
				return "", nil, err
			}
			list = append(list, uint32(n))
		}
		if list == nil {
			continue
		}
		is, other := [2]string{`origin`, `copier`}[i], [2]string{`copier`, `origin`}[i]
		numbers, err := jsonList(list)
		if err != nil {
			return "", nil, err
		}
		where, args = where+` AND `+is+` IN (SELECT value FROM json_each(?))`, append(args, numbers)
		if len(q.Origins) == 0 || len(q.Copiers) == 0 {
			where, args = where+` AND `+other+` NOT IN (SELECT value FROM json_each(?))`, append(args, numbers)
		}
	}
	return where, args, nil
}

// Copies lists copies.
func (b *Model) Copies(ctx context.Context, q CopyQuery) (*CopyPage, error) {
	where, args, err := b.copiesWhere(ctx, &q)
	if err != nil {
		return nil, err
	}
	page := new(CopyPage)
	if err := b.reader.QueryRowContext(ctx, `SELECT count(*) FROM copies WHERE `+where, args...).Scan(&page.Count); err != nil {
		return nil, fmt.Errorf("browse: copies: %w", err)
	}
	if q.After != 0 {
		where, args = where+` AND ordinal < ?`, append(args, q.After)
	}
	pairs, err := read(ctx, b.reader, "copies", `SELECT ordinal, of FROM copies WHERE `+where+` ORDER BY ordinal DESC LIMIT ?`, func(r *sql.Rows, p *[2]uint32) error {
		return r.Scan(&p[0], &p[1])
	}, append(args, q.Limit+1)...)
	if err != nil {
		return nil, err
	}
	if len(pairs) > q.Limit {
		pairs = pairs[:q.Limit]
		page.Next = pairs[q.Limit-1][0]
	}
	var ordinals []uint32
	for _, p := range pairs {
		ordinals = append(ordinals, p[0], p[1])
	}
	briefs, err := b.cat.Briefs(ctx, ordinals)
	if err != nil {
		return nil, err
	}
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
	return page, nil
}
