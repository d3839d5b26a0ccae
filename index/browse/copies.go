package browse

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
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

// CopyPage is one page of copies, the last arrived first; Next is 0 at the end.
type CopyPage struct {
	Copies []Copy
	Next   uint32
}

// Copies lists what a source copied from others, and they from it, or only what of it is rejected: at most limit
// copies, those after one (0: the first).
func (b *Model) Copies(ctx context.Context, source string, rejected bool, after uint32, limit int) (*CopyPage, error) {
	return must.Try(func() *CopyPage {
		which := `copies WHERE (origin = ?1 OR copier = ?1) AND origin <> copier`
		if rejected { // early: it was published before what it was rejected for
			which = `copies JOIN rejected USING (ordinal) WHERE (copier = ?1 AND NOT early OR origin = ?1 AND early)`
		}
		page := b.readCopies(ctx, limit, which+` AND ordinal < ?2`, b.sourceNumber(ctx, source),
			cmp.Or(after, math.MaxUint32))
		for i := range page.Copies {
			c := &page.Copies[i]
			if behind, known := c.Behind(); known && behind < 0 {
				c.Origin, c.Copier = c.Copier, c.Origin
			}
		}
		return page
	})
}

// readCopies reads the last copies of a table on a condition, without those that the catalogue has lost. Package must
// ends it.
func (b *Model) readCopies(ctx context.Context, limit int, which string, args ...any) *CopyPage {
	page := new(CopyPage)
	var ordinals []uint32
	for copier, origin := range sqlite.Pairs[uint32, uint32](ctx, b.reader, `SELECT ordinal, of FROM `+which+`
		ORDER BY ordinal DESC LIMIT `+strconv.Itoa(limit+1), args...) {
		if len(ordinals) == 2*limit {
			page.Next = ordinals[2*limit-2]
			break
		}
		ordinals = append(ordinals, copier, origin)
	}
	briefs := must.Get(b.cat.Briefs(ctx, ordinals))
	for pair := range slices.Chunk(ordinals, 2) {
		if c := (Copy{Origin: briefs[pair[1]], Copier: briefs[pair[0]]}); c.Origin != nil && c.Copier != nil {
			page.Copies = append(page.Copies, c)
		}
	}
	return page
}
