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
	query, of := `SELECT ordinal FROM rejected WHERE day = ? ORDER BY lot LIMIT ?`, dayOf(day.UnixMilli())
	if day.IsZero() {
		query, of = `SELECT ordinal FROM rejected WHERE early AND ? ORDER BY ordinal DESC LIMIT ?`, 1
	}
	return must.Try(func() []index.Brief {
		var ordinals []uint32
		for _, o := range must.Get(sqlite.Column[uint32](ctx, b.reader, query, of, 4*limit+200)) {
			if v, _ := b.cat.State(o); v != verdict.Duplicate || len(ordinals) == limit {
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
	// Share, and the bounds of its 95 % Wilson score interval (Wilson 1927),
	// 0…1; NaN without a sample.
	Share, Low, High float64
}

// Of is the size of the sample.
func (p Precision) Of() int { return p.Right + p.Wrong }

func newPrecision(right, wrong int) Precision {
	p := Precision{Right: right, Wrong: wrong}
	n := float64(right + wrong)
	if n == 0 {
		p.Share, p.Low, p.High = math.NaN(), math.NaN(), math.NaN()
		return p
	}
	const z = 1.959964
	p.Share = float64(right) / n
	mid := p.Share + z*z/(2*n)
	half := z * math.Sqrt(p.Share*(1-p.Share)/n+z*z/(4*n*n))
	p.Low, p.High = max(0, (mid-half)/(1+z*z/n)), min(1, (mid+half)/(1+z*z/n))
	return p
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
