package browse

import (
	"cmp"
	"context"
	"time"

	"jianguo/index"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// HourCount is what arrived within one hour.
type HourCount struct {
	Hour                        time.Time
	Items, Duplicates, Suspects int64
}

// Hours returns the counts by hour of arrival from one time to another, which leaves out what arrived while the clock
// was ahead. Hours without arrivals are left out.
func (b *Model) Hours(ctx context.Context, from, to time.Time) ([]HourCount, error) {
	columns := func(c *HourCount) []any {
		return []any{(*sqlite.Millis)(&c.Hour), &c.Items, &c.Duplicates, &c.Suspects}
	}
	return sqlite.All(ctx, b.reader, columns, `SELECT hour * 3600000, items, duplicates, suspects FROM hours
		WHERE hour BETWEEN ? AND ? ORDER BY hour`, from.UnixMilli()/3_600_000, to.UnixMilli()/3_600_000)
}

// The overviews count by days of UTC+8.
const zone = 8 * 3600

// dayOf is the number of the day of a time in milliseconds.
func dayOf(ms int64) int64 { return (ms/1000 + zone) / 86400 }

// Waiting is how many suspects wait for a decision.
func (b *Model) Waiting(ctx context.Context) (int, error) {
	return must.Try(func() int { return count(ctx, b.reader, "queue", `SELECT count(*) FROM queue`) })
}

// SourceCount is what a source delivered.
type SourceCount struct {
	Name                        string
	Items, Duplicates, Suspects int64
	Policy                      string
}

// Sources lists the sources that delivered most since a time, after so many of them.
func (b *Model) Sources(ctx context.Context, since time.Time, after, limit int) ([]SourceCount, error) {
	return must.Try(func() (out []SourceCount) {
		for r := range sqlite.Rows(ctx, b.reader, `SELECT source, sum(items), sum(duplicates), sum(suspects)
			FROM source_days WHERE day >= ? GROUP BY source ORDER BY 2 DESC, 1 LIMIT ? OFFSET ?`,
			dayOf(since.UnixMilli()), limit, after) {
			var c SourceCount
			var number int64
			must.Do(r.Scan(&number, &c.Items, &c.Duplicates, &c.Suspects))
			c.Name = b.sourceName(ctx, number)
			c.Policy = cmp.Or(b.cat.SourcePolicies()[c.Name].Policy, index.SourceNormal)
			out = append(out, c)
		}
		return out
	})
}

// sourceName is the name of a source; empty for articles without one. It panics on errors (must).
func (b *Model) sourceName(ctx context.Context, number int64) (name string) {
	must.Do(b.cat.Tables().QueryRowContext(ctx, `SELECT coalesce(max(name), '') FROM sources WHERE number = ?`,
		number).Scan(&name))
	return name
}

// Copied counts the articles of one source that came again from another.
type Copied struct {
	Origin, Copier string
	N              int64
}

// pairsOf are the pairs of a source ?1: those that it copied are looked up under each origin.
const pairsOf = `(WITH RECURSIVE origins (number) AS (SELECT min(origin) FROM pairs UNION ALL
	SELECT (SELECT min(origin) FROM pairs WHERE origin > number) FROM origins WHERE number IS NOT NULL)
	SELECT pairs.* FROM pairs WHERE origin = ?1
	UNION ALL SELECT pairs.* FROM origins CROSS JOIN pairs ON origin = number AND copier = ?1)`

// CopiedMost returns the pairs of sources of which one copied the other most since the day of a time, those of a
// source unless it is empty. For all, it reads every pair: an index by day would still have to sort those of a month.
func (b *Model) CopiedMost(ctx context.Context, since time.Time, of string, limit int) ([]Copied, error) {
	from := `pairs`
	if of != "" {
		from = pairsOf
	}
	return must.Try(func() (out []Copied) {
		for r := range sqlite.Rows(ctx, b.reader, `SELECT origin, copier, sum(n) FROM `+from+`
			WHERE day >= ?2 AND origin <> copier GROUP BY origin, copier ORDER BY 3 DESC, 1, 2 LIMIT ?3`,
			b.sourceNumber(ctx, of), dayOf(since.UnixMilli()), limit) {
			var origin, copier, n int64
			must.Do(r.Scan(&origin, &copier, &n))
			out = append(out, Copied{b.sourceName(ctx, origin), b.sourceName(ctx, copier), n})
		}
		return out
	})
}
