package browse

import (
	"cmp"
	"context"
	"math"
	"time"

	"jianguo/index"
	"jianguo/internal/must"
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

// CopyPage is one page of copies, the last arrived first; Next is 0 at the end.
type CopyPage struct {
	Copies []Copy
	Next   uint32
}

// Copies lists what a source copied from others, and they from it, or only what of it is rejected: at most limit
// copies, those after one (0: the first).
func (b *Model) Copies(ctx context.Context, source string, rejected bool, after uint32, limit int) (*CopyPage, error) {
	return must.Try(func() *CopyPage {
		page, number := new(CopyPage), b.sourceNumber(ctx, source)
		which := `copies WHERE (origin = ?1 OR copier = ?1) AND origin <> copier`
		if rejected { // early: it was published before what it was rejected for
			which = `copies JOIN rejected USING (ordinal) WHERE (copier = ?1 AND NOT early OR origin = ?1 AND early)`
		}
		query := `SELECT ordinal, of FROM ` + which + ` AND ordinal < ?2 ORDER BY ordinal DESC LIMIT ?3`
		pairs := read(ctx, b.reader, "copies", query, pair, number, cmp.Or(after, math.MaxUint32), limit+1)
		if len(pairs) > limit {
			pairs = pairs[:limit]
			page.Next = pairs[limit-1][0]
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
