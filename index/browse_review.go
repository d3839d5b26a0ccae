package index

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"
)

// How a rejection came to be looked at, and what was found.
const (
	DrawnRandom = "random" // by lot: what precision is measured on
	DrawnDoubt  = "doubt"  // the least certain ones

	FoundRight  = "right"
	FoundWrong  = "wrong"
	FoundUnsure = "unsure"
	FoundUndone = "undone" // takes back what was found of the item before
)

// Review is a rejection that was looked at.
type Review struct {
	At      time.Time
	By      string
	Item    string // id
	Ordinal uint32
	Drawn   string
	Finding string
	Reason  string
}

// Draw lists rejections to look at that nobody has looked at: by doubt the
// least certain, else by lot those that arrived on the day of a time.
func (b *Browse) Draw(ctx context.Context, drawn string, day time.Time, limit int) ([]Brief, error) {
	query, args := `SELECT ordinal FROM rejected ORDER BY doubt DESC, ordinal DESC LIMIT ?`, []any{}
	if drawn == DrawnRandom {
		query, args = `SELECT ordinal FROM rejected WHERE day = ? ORDER BY lot LIMIT ?`, []any{b.day(day.UnixMilli())}
	}
	var ordinals []uint32
	var reviewed bool
	err := each(ctx, b.reader, query, func(r *sql.Rows) error {
		var o uint32
		if err := r.Scan(&o); err != nil || len(ordinals) == limit || b.x.rows.Flags(o).Verdict() != Duplicate {
			return err
		}
		if err := b.x.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM reviews WHERE ordinal = ?1
			AND number = (SELECT max(number) FROM reviews WHERE ordinal = ?1) AND finding != 'undone')`, o).Scan(&reviewed); err != nil {
			return err
		}
		if !reviewed {
			ordinals = append(ordinals, o)
		}
		return nil
	}, append(args, 4*limit+200)...)
	if err != nil {
		return nil, fmt.Errorf("index: draw rejections: %w", err)
	}
	briefs, err := b.x.Briefs(ctx, ordinals)
	if err != nil {
		return nil, err
	}
	var out []Brief
	for _, o := range ordinals {
		if item := briefs[o]; item != nil {
			out = append(out, *item)
		}
	}
	return out, nil
}

// Confirm records what a person found about a rejection. It changes no
// verdict: a wrong one is released by a decision.
func (x *Index) Confirm(ctx context.Context, r Review) error {
	switch {
	case r.Finding != FoundRight && r.Finding != FoundWrong && r.Finding != FoundUnsure && r.Finding != FoundUndone:
		return fmt.Errorf("finding %q: want right, wrong, unsure or undone: %w", r.Finding, ErrQuery)
	case r.Drawn != DrawnRandom && r.Drawn != DrawnDoubt:
		return fmt.Errorf("drawn %q: want random or doubt: %w", r.Drawn, ErrQuery)
	case r.By == "":
		return fmt.Errorf("by: is missing: %w", ErrQuery)
	}
	if r.At.IsZero() {
		r.At = time.Now()
	}
	x.write.Lock()
	defer x.write.Unlock()
	err := x.transaction(ctx, func() error {
		b := &batch{x: x, ctx: ctx}
		v, err := b.find(r.Item)
		if err == nil && v == nil {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		_, err = x.w.conn.ExecContext(ctx, `INSERT INTO reviews (at, by, ordinal, drawn, finding, reason) VALUES (?,?,?,?,?,?)`,
			millis(r.At), r.By, v.ordinal, r.Drawn, r.Finding, r.Reason)
		return err
	})
	if err != nil {
		return fmt.Errorf("index: review of %q: %w", r.Item, err)
	}
	return nil
}

// Reviews lists the last reviews, the newest first.
func (x *Index) Reviews(ctx context.Context, limit int) ([]Review, error) {
	var out []Review
	err := each(ctx, x.reader, `SELECT r.at, r.by, i.id, r.ordinal, r.drawn, r.finding, r.reason FROM reviews r JOIN items i ON i.ordinal = r.ordinal
		ORDER BY r.number DESC LIMIT ?`, func(rows *sql.Rows) error {
		var r Review
		var at int64
		err := rows.Scan(&at, &r.By, &r.Item, &r.Ordinal, &r.Drawn, &r.Finding, &r.Reason)
		r.At = time.UnixMilli(at).UTC()
		out = append(out, r)
		return err
	}, limit)
	if err != nil {
		return nil, fmt.Errorf("index: reviews: %w", err)
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
func (b *Browse) Precision(ctx context.Context) (all Precision, weeks []Precision, err error) {
	var right, wrong int
	order := []int64{}
	byWeek := map[int64]*[2]int{}
	err = each(ctx, b.x.reader, `SELECT r.at, r.finding FROM reviews r WHERE r.drawn = 'random' AND r.finding IN ('right', 'wrong')
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
		if finding == FoundRight {
			right++
			n[0]++
		} else {
			wrong++
			n[1]++
		}
		return nil
	})
	if err != nil {
		return all, nil, fmt.Errorf("index: precision: %w", err)
	}
	for _, week := range order {
		weeks = append(weeks, newPrecision(b.dayTime(week*7-3), byWeek[week][0], byWeek[week][1]))
	}
	return newPrecision(time.Time{}, right, wrong), weeks, nil
}

// Label is what editors hold of a pair of articles.
type Label struct {
	A, B   string // ids; A was there first
	Label  string // same or different
	By     string
	Reason string
}

// Labels returns what decisions and reviews say of pairs, for measuring the
// judge: decisions and findings that were taken back, and unsure ones, left
// out. Of a pair, what was said last holds.
func (x *Index) Labels(ctx context.Context) ([]Label, error) {
	var out []Label
	at := map[[2]string]int{}
	err := each(ctx, x.reader, `
		SELECT a.id, b.id, CASE d.kind WHEN 'release' THEN 'different' ELSE 'same' END, d.by, d.reason, d.at
		FROM decisions d JOIN (SELECT number, item FROM decisions WHERE item IS NOT NULL UNION SELECT decision, item FROM decision_items) m ON m.number = d.number
		JOIN items b ON b.ordinal = m.item JOIN items a ON a.ordinal = b.of
		WHERE d.kind IN ('release', 'reject') AND NOT EXISTS (SELECT 1 FROM decisions u WHERE u.kind = 'undo' AND u.other = d.number)
		UNION ALL
		SELECT a.id, b.id, CASE r.finding WHEN 'right' THEN 'same' ELSE 'different' END, r.by, r.reason, r.at
		FROM reviews r JOIN items b ON b.ordinal = r.ordinal JOIN items a ON a.ordinal = b.of
		WHERE r.finding IN ('right', 'wrong') AND r.number = (SELECT max(number) FROM reviews q WHERE q.ordinal = r.ordinal)
		ORDER BY 6`, func(r *sql.Rows) error {
		var l Label
		var when int64
		if err := r.Scan(&l.A, &l.B, &l.Label, &l.By, &l.Reason, &when); err != nil {
			return err
		}
		pair := [2]string{l.A, l.B}
		if i, known := at[pair]; known {
			out[i] = l
			return nil
		}
		at[pair] = len(out)
		out = append(out, l)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("index: labels: %w", err)
	}
	return out, nil
}
