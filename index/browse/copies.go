package browse

import (
	"cmp"
	"context"
	"math"
	"slices"
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
		query := lastCopies(``, `copier = ?1 AND origin <> ?1`, `origin = ?1 AND copier <> ?1`)
		if rejected { // early: it was published before what it was rejected for
			query = lastCopies(`JOIN rejected USING (ordinal)`, `copier = ?1 AND NOT early`, `origin = ?1 AND early`)
		}
		page := b.readCopies(ctx, query, b.sourceNumber(ctx, source), cmp.Or(after, math.MaxUint32), limit)
		for i := range page.Copies {
			c := &page.Copies[i]
			if behind, known := c.Behind(); known && behind < 0 {
				c.Origin, c.Copier = c.Copier, c.Origin
			}
		}
		return page
	})
}

// lastCopies is a query of readCopies, for the last ?3 before ?2 that fulfil one of two conditions on a source ?1.
// SQLite reads along an index for each and merges them; for an OR it would read and sort all copies of the source.
func lastCopies(join, one, other string) string {
	half := `SELECT ordinal, of FROM copies ` + join + ` WHERE ordinal < ?2 AND `
	return half + one + ` UNION ALL ` + half + other + ` ORDER BY ordinal DESC LIMIT ?3`
}

// readCopies reads copies of a source, without those that the catalogue has lost. It panics on errors (must).
func (b *Model) readCopies(ctx context.Context, query string, source int, after uint32, limit int) *CopyPage {
	page := new(CopyPage)
	var ordinals []uint32
	for copier, origin := range sqlite.Pairs[uint32, uint32](ctx, b.reader, query, source, after, limit+1) {
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
