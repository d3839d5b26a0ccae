package browse

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"jianguo/index"
	"jianguo/index/sqlite"
	"jianguo/index/verdict"
)

// Draw lists rejections to look at that nobody has looked at: by doubt the
// least certain, else by lot those that arrived on the day of a time.
func (b *Model) Draw(ctx context.Context, drawn string, day time.Time, limit int) ([]index.Brief, error) {
	query, args := `SELECT ordinal FROM rejected ORDER BY doubt DESC, ordinal DESC LIMIT ?`, []any{}
	if drawn == index.DrawnRandom {
		query, args = `SELECT ordinal FROM rejected WHERE day = ? ORDER BY lot LIMIT ?`, []any{b.day(day.UnixMilli())}
	}
	var ordinals []uint32
	var reviewed bool
	err := sqlite.Each(ctx, b.reader, query, func(r *sql.Rows) error {
		var o uint32
		if err := r.Scan(&o); err != nil {
			return err
		}
		if v, _ := b.cat.State(o); v != verdict.Duplicate || len(ordinals) == limit {
			return nil
		}
		if err := b.cat.Tables().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM reviews WHERE ordinal = ?1
			AND number = (SELECT max(number) FROM reviews WHERE ordinal = ?1) AND finding != 'undone')`, o).Scan(&reviewed); err != nil {
			return err
		}
		if !reviewed {
			ordinals = append(ordinals, o)
		}
		return nil
	}, append(args, 4*limit+200)...)
	if err != nil {
		return nil, fmt.Errorf("browse: draw rejections: %w", err)
	}
	briefs, err := b.cat.Briefs(ctx, ordinals)
	if err != nil {
		return nil, err
	}
	var out []index.Brief
	for _, o := range ordinals {
		if item := briefs[o]; item != nil {
			out = append(out, *item)
		}
	}
	return out, nil
}

// Precision is the share of rejections that were right, by a sample.
type Precision struct {
	Since        time.Time // the week's beginning; zero: all there is
	Right, Wrong int
	// Share, and the bounds of its 95 % Wilson score interval (Wilson 1927),
	// 0…1; NaN without a sample.
	Share, Low, High float64
}

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

// Precision measures what is rejected, on the reviews that were drawn by lot:
// overall, and week by week. The last review of an item holds.
func (b *Model) Precision(ctx context.Context) (all Precision, weeks []Precision, err error) {
	var right, wrong int
	order := []int64{}
	byWeek := map[int64]*[2]int{}
	err = sqlite.Each(ctx, b.cat.Tables(), `SELECT r.at, r.finding FROM reviews r WHERE r.drawn = 'random' AND r.finding IN ('right', 'wrong')
		AND r.number = (SELECT max(number) FROM reviews q WHERE q.ordinal = r.ordinal) ORDER BY r.at`, func(rows *sql.Rows) error {
		var at int64
		var finding string
		if err := rows.Scan(&at, &finding); err != nil {
			return err
		}
		week := (b.day(at) + 3) / 7 // weeks begin on Monday
		n := byWeek[week]
		if n == nil {
			n = new([2]int)
			byWeek[week] = n
			order = append(order, week)
		}
		if finding == index.FoundRight {
			right++
			n[0]++
		} else {
			wrong++
			n[1]++
		}
		return nil
	})
	if err != nil {
		return all, nil, fmt.Errorf("browse: precision: %w", err)
	}
	for _, week := range order {
		weeks = append(weeks, newPrecision(b.dayTime(week*7-3), byWeek[week][0], byWeek[week][1]))
	}
	return newPrecision(time.Time{}, right, wrong), weeks, nil
}
