package browse

import (
	"context"
	"math"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// Draw lists a random draw of the rejections without a review that arrived on the day of a time; of no day, the last
// rejections that were published before what they repeat: their text may be the original.
func (b *Model) Draw(ctx context.Context, day time.Time, limit int) ([]index.Brief, error) {
	query, of := `SELECT ordinal FROM rejected WHERE day = ? ORDER BY lot`, dayOf(day.UnixMilli())
	if day.IsZero() {
		query, of = `SELECT ordinal FROM rejected WHERE early AND ? ORDER BY ordinal DESC`, 1
	}
	return must.Try(func() []index.Brief {
		var ordinals []uint32
		for r := range sqlite.Rows(ctx, b.reader, query, of) {
			var o uint32
			if must.Do(r.Scan(&o)); len(ordinals) == limit {
				break
			}
			if v, _ := b.cat.State(o); v != verdict.Duplicate {
				continue
			}
			reviewed := count(ctx, b.cat.Tables(), "draw rejections", `SELECT count(*) FROM reviews WHERE ordinal = ?1
				AND number = (SELECT max(number) FROM reviews WHERE ordinal = ?1) AND finding != 'undone'`, o)
			if reviewed == 0 {
				ordinals = append(ordinals, o)
			}
		}
		return b.briefs(ctx, ordinals)
	})
}

// Precision is the share of rejections that were right, by a sample.
type Precision struct {
	Right, Wrong int
	// Share, and the bounds of its 95 % interval (verdict.Wilson), 0…1; NaN without a sample.
	Share, Low, High float64
}

func (p Precision) Of() int { return p.Right + p.Wrong }

func newPrecision(right, wrong int) Precision {
	n := right + wrong
	if n == 0 {
		return Precision{Share: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	low, high := verdict.Wilson(right, n)
	return Precision{right, wrong, float64(right) / float64(n), low, high}
}

// Precision is the precision of rejections by the reviews that were drawn at random. The last review of an item
// counts.
func (b *Model) Precision(ctx context.Context) (Precision, error) {
	var right, wrong int
	err := b.cat.Tables().QueryRowContext(ctx, `SELECT coalesce(sum(r.finding = 'right'), 0),
		coalesce(sum(r.finding = 'wrong'), 0) FROM reviews r WHERE r.drawn = 'random'
		AND r.number = (SELECT max(number) FROM reviews q WHERE q.ordinal = r.ordinal)`).Scan(&right, &wrong)
	return newPrecision(right, wrong), wrap.Err(err, "browse: precision")
}
