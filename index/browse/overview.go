package browse

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"time"

	"jianguo/index"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// HourCount is what arrived within one hour.
type HourCount struct {
	Hour                        time.Time
	Items, Duplicates, Suspects int64
}

// Hours returns the counts by hour of arrival since a time. Hours without
// arrivals are left out.
func (b *Model) Hours(ctx context.Context, since time.Time) ([]HourCount, error) {
	columns := func(c *HourCount) []any {
		return []any{(*sqlite.Millis)(&c.Hour), &c.Items, &c.Duplicates, &c.Suspects}
	}
	return sqlite.All(ctx, b.reader, columns, `SELECT hour * 3600000, items, duplicates, suspects FROM hours
		WHERE hour >= ? ORDER BY hour`, since.UnixMilli()/3_600_000)
}

// The overviews count by days and weeks of UTC+8.
const zone = 8 * 3600

// dayOf is the number of the day of a time in milliseconds.
func dayOf(ms int64) int64 { return (ms/1000 + zone) / 86400 }

// weekOf is, in a query, the number of the week of a time in milliseconds. Weeks begin on Monday.
func weekOf(ms string) string {
	return fmt.Sprintf(`(%s / 1000 + %d + 3 * 86400) / 604800`, ms, zone)
}

// weekTime is the beginning of a week.
func weekTime(week int64) time.Time {
	return time.Unix(week*604800-3*86400-zone, 0).In(time.FixedZone("UTC+8", zone))
}

// Totals are the counts that pages show live.
type Totals struct {
	Items, Duplicates, Suspects int64 // ever arrived
	Waiting                     int64 // suspects without a decision
	Stories                     int64
	Events                      uint64
}

// Totals counts.
func (b *Model) Totals(ctx context.Context) (Totals, error) {
	var t Totals
	err := b.reader.QueryRowContext(ctx, `SELECT coalesce(sum(items), 0), coalesce(sum(duplicates), 0),
		coalesce(sum(suspects), 0), (SELECT count(*) FROM queue), (SELECT count(*) FROM stories) FROM hours`,
	).Scan(&t.Items, &t.Duplicates, &t.Suspects, &t.Waiting, &t.Stories)
	_, t.Events = b.cat.Applied()
	return t, wrap.Err(err, "browse: totals")
}

// SourceCount is what a source delivered.
type SourceCount struct {
	Number                      int64
	Name                        string
	Items, Duplicates, Suspects int64
	Policy                      string
}

// Sources lists the sources that delivered most since a time, after so many of them.
func (b *Model) Sources(ctx context.Context, since time.Time, after, limit int) ([]SourceCount, error) {
	return must.Try(func() []SourceCount {
		policies, names := must.Get(b.cat.SourcePolicies(ctx)), b.sourceNames(ctx)
		return read(ctx, b.reader, "sources", `SELECT source, sum(items), sum(duplicates), sum(suspects)
			FROM source_days WHERE day >= ? GROUP BY source ORDER BY 2 DESC, 1 LIMIT ? OFFSET ?`,
			func(r *sql.Rows, c *SourceCount) error {
				err := r.Scan(&c.Number, &c.Items, &c.Duplicates, &c.Suspects)
				c.Name = names[c.Number]
				c.Policy = cmp.Or(policies[c.Name].Policy, index.SourceNormal)
				return err
			}, dayOf(since.UnixMilli()), limit, after)
	})
}

// Delay is the median time that a source published behind the originals; nil: no two times of
// publication are known.
func (b *Model) Delay(ctx context.Context, source int64) (*time.Duration, error) {
	median, err := sqlite.Column[int64](ctx, b.reader, `SELECT delay FROM copies
		WHERE copier = ?1 AND delay IS NOT NULL ORDER BY delay LIMIT 1
		OFFSET (SELECT max(0, (count(*) - 1) / 2) FROM copies WHERE copier = ?1 AND delay IS NOT NULL)`, source)
	if err != nil || len(median) == 0 {
		return nil, err
	}
	return new(time.Duration(median[0]) * time.Millisecond), nil
}

// sourceNames returns the names of all sources: a few thousand, however many
// items there are.
func (b *Model) sourceNames(ctx context.Context) map[int64]string {
	return maps.Collect(sqlite.Pairs[int64, string](ctx, b.cat.Tables(), `SELECT number, name FROM sources`))
}

// Copied counts the articles of one source that came again from another.
type Copied struct {
	Origin, Copier string
	N              int64
}

// CopiedMost returns the pairs of sources of which one copied the other most since the day of a time, among the
// sources that copied or were copied most.
func (b *Model) CopiedMost(ctx context.Context, since time.Time, limit int) ([]Copied, error) {
	return must.Try(func() []Copied {
		const most = 12
		day, names := dayOf(since.UnixMilli()), b.sourceNames(ctx)
		sources := must.Get(sqlite.Column[uint32](ctx, b.reader, `SELECT source FROM pairings WHERE day >= ?
			GROUP BY source ORDER BY sum(n) DESC, 1 LIMIT ?`, day, most))
		// One look-up for each pair of these few, however many other pairs there are.
		return read(ctx, b.reader, "pairs of sources", `SELECT o.value, c.value,
				(SELECT sum(n) FROM pairs p WHERE p.origin = o.value AND p.copier = c.value AND p.day >= ?1) AS n
			FROM json_each(?2) o, json_each(?2) c WHERE o.value <> c.value AND n > 0
			ORDER BY n DESC, 1, 2 LIMIT ?3`, func(r *sql.Rows, c *Copied) error {
			var origin, copier int64
			err := r.Scan(&origin, &copier, &c.N)
			c.Origin, c.Copier = names[origin], names[copier]
			return err
		}, day, sqlite.List(sources), limit)
	})
}
