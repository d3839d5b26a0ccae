package browse

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// seriesShown is how many members a row of the queue has at most.
const seriesShown = 50

// SuspectRow is one row of the queue of suspects: one suspect, or a family
// (index.FamilyOf), those of one series or suspected of copying the same article.
type SuspectRow struct {
	Items   []index.Brief // that wait and fit; the first of the order first, at most 50
	Waiting int           // how many do
	Family  uint32        // 0: none
	Error   float64       // how likely publishing it was a mistake, 0…1: it adds little (listedEvent.repeats)
	Watched bool          // its source is watched
	Cursor  string        // a SuspectQuery with it lists the rows after this one
}

// SuspectQuery selects suspects without a decision.
type SuspectQuery struct {
	Source string // only of this source
	New    bool   // those that add most first, instead of those that add least
	Cursor string // from SuspectPage.Next
	Limit  int    // 0: 40; at most 200
}

// SuspectPage is one page of the queue; Next is empty at the end.
type SuspectPage struct {
	Rows    []SuspectRow
	Next    string
	Waiting int // how many suspects fit, on all pages
}

// suspectCursor is the position of a row: watched sources come first, then rows
// are ordered by error and ordinal.
type suspectCursor struct {
	Rest    bool    `json:"r,omitempty"` // among the sources that are not watched
	Error   float64 `json:"e"`
	Ordinal uint32  `json:"o"`
}

// Suspects lists the suspects without a decision: those of watched sources first,
// then those that add least to the earlier text. A family is one row, at the position of
// its first member. Decisions between two pages leave the order of the other
// rows as it was.
func (b *Model) Suspects(ctx context.Context, q SuspectQuery) (*SuspectPage, error) {
	return must.Try(func() *SuspectPage {
		limit := cmp.Or(min(max(q.Limit, 0), 200), 40)
		start := 2.0 // above every error
		if q.New {
			start = -1
		}
		at := suspectCursor{Error: start}
		decodeCursor(q.Cursor, q.order(), &at)
		fits := b.fits(ctx, q)
		page := new(SuspectPage)
		page.Waiting = count(ctx, b.reader, "suspects", `SELECT count(*) FROM queue WHERE `+fits.text, fits.args...)
		watched := b.watched(ctx)
		for {
			in := `source IN (` + watched + `)`
			if at.Rest {
				in = `source NOT IN (` + watched + `)`
			}
			switch full, end := b.suspects(ctx, page, &at, q, in, fits, limit); {
			case full:
				page.Next = encodeCursor(q.order(), at)
				return page
			case end && at.Rest:
				return page
			case end:
				at = suspectCursor{Rest: true, Error: start}
			}
		}
	})
}

// Place is the number of a row of a page, from 1, among all rows of the queue that fit, and how many these are.
func (b *Model) Place(ctx context.Context, q SuspectQuery, row *SuspectRow) (place, rows int, err error) {
	err = must.Catch(func() {
		var at suspectCursor
		decodeCursor(row.Cursor, q.order(), &at)
		before, _, order := queueOrder(q.New)
		fits, watched := b.fits(ctx, q), `source IN (`+b.watched(ctx)+`)`
		query := `SELECT count(*), 1 + count(*) FILTER (WHERE ? AND ` + watched + ` OR ` + watched + ` = ?
			AND (error, ordinal) ` + before + ` (?, ?)) FROM queue q WHERE ` + fits.text + ` AND ` + headOf(order, fits)
		args := slices.Concat([]any{at.Rest, !at.Rest, at.Error, at.Ordinal}, fits.args, fits.args)
		must.Dof(b.reader.QueryRowContext(ctx, query, args...).Scan(&rows, &place), "browse: place in the queue")
	})
	return place, rows, err
}

// headOf is the condition on a suspect q that it is the first of its series that fits: a series is listed in the place
// of that one; its other members are no rows of their own. SQLite finds it by one step along queue_by_series; to look
// for an earlier one than q would read all that come with the same error.
func headOf(order string, fits conditions) string {
	return `(series = 0 OR ordinal = (SELECT ordinal FROM queue p WHERE p.series = q.series AND ` + fits.text + `
		ORDER BY ` + order + ` LIMIT 1))`
}

func (b *Model) fits(ctx context.Context, q SuspectQuery) conditions {
	fits := conditions{text: `1`}
	if q.Source != "" {
		fits.and(`source = ?`, b.sourceNumber(ctx, q.Source))
	}
	return fits
}

// order names the order of rows, in cursors.
func (q *SuspectQuery) order() string { return map[bool]string{false: "likely", true: "new"}[q.New] }

// queueOrder is how rows compare that come before and after another one, and their order.
func queueOrder(most bool) (before, after, order string) {
	if most {
		return "<", ">", "error, ordinal"
	}
	return ">", "<", "error DESC, ordinal DESC"
}

// suspects appends rows of one half of the queue from a position on, and moves
// the position. full: the page is full, and there are more rows; end: that half has no more.
func (b *Model) suspects(
	ctx context.Context, page *SuspectPage, at *suspectCursor, q SuspectQuery, in string, fits conditions, limit int,
) (full, end bool) {
	type head struct {
		ordinal, series uint32
		error           float64
	}
	_, after, order := queueOrder(q.New)
	query := `SELECT ordinal, series, error FROM queue q
		WHERE (error, ordinal) ` + after + ` (?, ?) AND ` + in + ` AND ` + fits.text + `
		AND ` + headOf(order, fits) + `
		ORDER BY ` + order + ` LIMIT ?`
	asked := limit - len(page.Rows) + 1
	args := slices.Concat([]any{at.Error, at.Ordinal}, fits.args, fits.args, []any{asked})
	columns := func(h *head) []any { return []any{&h.ordinal, &h.series, &h.error} }
	heads := must.Get(sqlite.All(ctx, b.reader, columns, query, args...))
	for _, h := range heads {
		if len(page.Rows) == limit {
			return true, false
		}
		at.Error, at.Ordinal = h.error, h.ordinal
		row := b.suspectRow(ctx, h.ordinal, h.series, fits, order)
		if len(row.Items) > 0 { // else those asked for do not fill the page
			row.Error, row.Watched, row.Family, row.Cursor = h.error, !at.Rest, h.series, encodeCursor(q.order(), at)
			page.Rows = append(page.Rows, row)
		}
	}
	return false, len(heads) < asked
}

// suspectRow reads a row; one that was decided a moment ago has no items.
func (b *Model) suspectRow(ctx context.Context, head, series uint32, fits conditions, order string) (row SuspectRow) {
	var waiting []uint32
	if series != 0 {
		waiting = b.family(ctx, series, fits, order)
	} else if b.waits(head) {
		waiting = []uint32{head}
	}
	return SuspectRow{Waiting: len(waiting), Items: b.briefs(ctx, waiting[:min(len(waiting), seriesShown)])}
}

// family lists the waiting suspects of a family that fit.
func (b *Model) family(ctx context.Context, family uint32, fits conditions, order string) []uint32 {
	query := `SELECT ordinal FROM queue WHERE ` + fits.text + ` AND series = ? ORDER BY ` + order
	all := must.Get(sqlite.Column[uint32](ctx, b.reader, query, append(fits.args, family)...))
	return slices.DeleteFunc(all, func(o uint32) bool { return !b.waits(o) })
}

// waits reports whether a version is a suspect without a decision.
func (b *Model) waits(ordinal uint32) bool {
	v, superseded := b.state(ordinal)
	return v == verdict.Suspect && !superseded
}

// watched lists the numbers of the watched sources, for a query.
func (b *Model) watched(ctx context.Context) string {
	var list []string
	for name, p := range b.cat.SourcePolicies() {
		if p.Policy == index.SourceWatched {
			list = append(list, fmt.Sprint(b.sourceNumber(ctx, name)))
		}
	}
	return strings.Join(list, ",")
}
