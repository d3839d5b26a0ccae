package browse

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"jianguo/index"
	"jianguo/index/sqlite"
	"jianguo/index/verdict"
)

// seriesShown is how many members of a series a row of the queue carries.
const seriesShown = 50

// SuspectRow is one row of the queue of suspects: one, or those of a family
// (FamilyOf): of one series, or like the same article.
type SuspectRow struct {
	Items   []index.Brief // those that wait; the likeliest first, at most 50
	Waiting int           // how many wait in it
	Family  uint32        // 0: it is of none
	Error   float64       // how likely publishing it was a mistake, 0…1
	Watched bool          // its source is watched
}

// SuspectQuery selects suspects that nobody has decided about.
type SuspectQuery struct {
	Source string // only of this source
	Cursor string // from SuspectPage.Next
	Limit  int    // 0: 40; at most 200
}

// SuspectPage is one page of the queue; Next is empty at the end.
type SuspectPage struct {
	Rows []SuspectRow
	Next string
}

// suspectCursor is the place of a row: those of watched sources go first, then
// it goes by error and ordinal, downwards.
type suspectCursor struct {
	Rest    bool    `json:"r,omitempty"` // among the sources that are not watched
	Error   float64 `json:"e"`
	Ordinal uint32  `json:"o"`
}

// Suspects lists the suspects nobody has decided about: those of watched
// sources first, then those most likely to be copies. A family is one row, in
// the place of its likeliest member. What is decided between two pages leaves
// the order of the rest as it was.
func (b *Model) Suspects(ctx context.Context, q SuspectQuery) (*SuspectPage, error) {
	limit := min(max(q.Limit, 0), 200)
	if limit == 0 {
		limit = 40
	}
	at := suspectCursor{Error: 2} // above every error
	if q.Cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(q.Cursor)
		if err == nil {
			err = json.Unmarshal(raw, &at)
		}
		if err != nil {
			return nil, fmt.Errorf("cursor %q is not one that a page gave: %w", q.Cursor, verdict.ErrQuery)
		}
	}
	watched, err := b.watched(ctx)
	if err != nil {
		return nil, err
	}
	only := int64(-1)
	if q.Source != "" {
		if only, err = b.sourceNumber(ctx, q.Source); err != nil {
			return nil, err
		}
	}
	page := &SuspectPage{}
	for {
		full, err := b.suspects(ctx, page, &at, watched, q.Source != "", only, limit)
		if err != nil {
			return nil, fmt.Errorf("browse: suspects: %w", err)
		}
		if full {
			raw, err := json.Marshal(at)
			page.Next = base64.RawURLEncoding.EncodeToString(raw)
			return page, err
		}
		if at.Rest {
			return page, nil
		}
		at = suspectCursor{Rest: true, Error: 2}
	}
}

// suspects appends rows of one half of the queue from a place on, and moves the
// place; full says that the page is, and that there is more.
func (b *Model) suspects(ctx context.Context, page *SuspectPage, at *suspectCursor, watched string, filtered bool, only int64, limit int) (full bool, err error) {
	where := `source IN (` + watched + `)`
	if at.Rest {
		where = `source NOT IN (` + watched + `)`
	}
	args := []any{at.Error, at.Ordinal}
	if filtered {
		where, args = where+` AND source = ?`, append(args, only)
	}
	type head struct {
		ordinal, series uint32
		error           float64
	}
	var heads []head
	// A row stands where its likeliest member does: a member that another of
	// its series goes before is no row.
	err = sqlite.Each(ctx, b.reader, `SELECT ordinal, series, error FROM queue q WHERE (error, ordinal) < (?, ?) AND `+where+`
		AND (series = 0 OR NOT EXISTS (SELECT 1 FROM queue p WHERE p.series = q.series AND (p.error, p.ordinal) > (q.error, q.ordinal)))
		ORDER BY error DESC, ordinal DESC LIMIT ?`, func(r *sql.Rows) error {
		var h head
		err := r.Scan(&h.ordinal, &h.series, &h.error)
		heads = append(heads, h)
		return err
	}, append(args, limit-len(page.Rows)+1)...)
	if err != nil {
		return false, err
	}
	for _, h := range heads {
		if len(page.Rows) == limit {
			return true, nil
		}
		row, err := b.suspectRow(ctx, h.ordinal, h.series)
		if err != nil {
			return false, err
		}
		at.Error, at.Ordinal = h.error, h.ordinal
		if len(row.Items) > 0 {
			row.Error, row.Watched, row.Family = h.error, !at.Rest, h.series
			page.Rows = append(page.Rows, row)
		}
	}
	return false, nil
}

// suspectRow reads a row; one that was decided a moment ago has no items.
func (b *Model) suspectRow(ctx context.Context, head, series uint32) (row SuspectRow, err error) {
	ordinals := []uint32{}
	waits := func(o uint32) {
		if b.waits(o) {
			if row.Waiting++; len(ordinals) < seriesShown {
				ordinals = append(ordinals, o)
			}
		}
	}
	if series == 0 {
		waits(head)
	} else if err := sqlite.Each(ctx, b.reader, `SELECT ordinal FROM queue WHERE series = ? ORDER BY error DESC, ordinal DESC`, func(r *sql.Rows) error {
		var o uint32
		err := r.Scan(&o)
		waits(o)
		return err
	}, series); err != nil {
		return row, err
	}
	briefs, err := b.cat.Briefs(ctx, ordinals)
	for _, o := range ordinals {
		if item := briefs[o]; item != nil {
			row.Items = append(row.Items, *item)
		}
	}
	return row, err
}

// waits reports whether a version is a suspect that nobody has decided about.
func (b *Model) waits(ordinal uint32) bool {
	v, superseded := b.cat.State(ordinal)
	return v == verdict.Suspect && !superseded
}

// FamilyWaiting lists those of a family that wait and have not changed since an
// event, the likeliest first: what an editor who saw the row then decides
// about.
func (b *Model) FamilyWaiting(ctx context.Context, family uint32, since uint64) ([]index.DecisionItem, error) {
	var ordinals []uint32
	err := sqlite.Each(ctx, b.reader, `SELECT ordinal FROM queue WHERE series = ? ORDER BY error DESC, ordinal DESC`, func(r *sql.Rows) error {
		var o uint32
		err := r.Scan(&o)
		if b.waits(o) {
			ordinals = append(ordinals, o)
		}
		return err
	}, family)
	if err != nil {
		return nil, fmt.Errorf("browse: family %d: %w", family, err)
	}
	briefs, err := b.cat.Briefs(ctx, ordinals)
	if err != nil {
		return nil, err
	}
	var items []index.DecisionItem
	for _, o := range ordinals {
		if m := briefs[o]; m != nil && m.Event <= since {
			items = append(items, index.DecisionItem{Item: m.ID, Seen: m.Event})
		}
	}
	return items, nil
}

// watched lists the numbers of the watched sources, for a query.
func (b *Model) watched(ctx context.Context) (string, error) {
	policies, err := b.cat.SourcePolicies(ctx)
	if err != nil {
		return "", err
	}
	var list []string
	for name, p := range policies {
		if p.Policy != index.SourceWatched {
			continue
		}
		n, err := b.sourceNumber(ctx, name)
		if err != nil {
			return "", err
		}
		list = append(list, fmt.Sprint(n))
	}
	return strings.Join(list, ","), nil
}

// sourceNumber is the number of a source, -1 if nothing has come from it.
func (b *Model) sourceNumber(ctx context.Context, name string) (number int64, err error) {
	err = b.cat.Tables().QueryRowContext(ctx, `SELECT coalesce((SELECT number FROM sources WHERE name = ?), -1)`, name).Scan(&number)
	if err != nil {
		err = fmt.Errorf("browse: source %q: %w", name, err)
	}
	return number, err
}
