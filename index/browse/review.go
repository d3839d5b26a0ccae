package browse

import (
	"context"
	"database/sql"
	"math"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/must"
)

// Draw lists rejections without a review: the least certain ones
// (index.DrawnDoubt), or a random draw of those that arrived on the day of a time.
func (b *Model) Draw(ctx context.Context, drawn string, day time.Time, limit int) ([]index.Brief, error) {
	query, args := `SELECT ordinal FROM rejected ORDER BY doubt DESC, ordinal DESC LIMIT ?`, []any{}
	if drawn == index.DrawnRandom {
		query, args = `SELECT ordinal FROM rejected WHERE day = ? ORDER BY lot LIMIT ?`, []any{dayOf(day.UnixMilli())}
	}
	return must.Try(func() []index.Brief {
		var ordinals []uint32
		for _, o := range read(ctx, b.reader, "draw rejections", query, number, append(args, 4*limit+200)...) {
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
	Since        time.Time // the week's beginning; zero: all there is
	Right, Wrong int
	// Share, and the bounds of its 95 % Wilson score interval (Wilson 1927),
	// 0…1; NaN without a sample.
	Share, Low, High float64
}

// Of is the size of the sample.
func (p Precision) Of() int { return p.Right + p.Wrong }

func newPrecision(since time.Time, right, wrong int) Precision {
	p := Precision{Since: since, Right: right, Wrong: wrong}
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

// Precision is the precision of rejections by the reviews that were drawn at
// random: overall, and week by week. The last review of an item counts.
func (b *Model) Precision(ctx context.Context) (all Precision, weeks []Precision, err error) {
	weeks, err = must.Try(func() []Precision {
		query := `SELECT ` + weekOf(`r.at`) + `, sum(r.finding = 'right'), sum(r.finding = 'wrong') FROM reviews r
			WHERE r.drawn = 'random' AND r.finding IN ('right', 'wrong')
			AND r.number = (SELECT max(number) FROM reviews q WHERE q.ordinal = r.ordinal) GROUP BY 1 ORDER BY 1`
		return read(ctx, b.cat.Tables(), "precision", query, func(rows *sql.Rows, p *Precision) error {
			var week int64
			err := rows.Scan(&week, &p.Right, &p.Wrong)
			*p = newPrecision(weekTime(week), p.Right, p.Wrong)
			all.Right, all.Wrong = all.Right+p.Right, all.Wrong+p.Wrong
			return err
		})
	})
	return newPrecision(time.Time{}, all.Right, all.Wrong), weeks, err
}
