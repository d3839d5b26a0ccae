package browse

import (
	"context"
	"math"
	"slices"
	"time"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// A source is silenced on a day if at least silencedLeast of its articles arrived, and at least silencedShare of them
// were rejected: a crawler in a loop, a thief, or a source whose own articles are delivered late.
const (
	silencedLeast   = 20
	silencedShare   = .9
	silencedAgainst = 5
	tellEvery       = 10 * time.Second
)

// Silenced is a source of which nearly all articles of a day were rejected.
type Silenced struct {
	Source   string   `json:"source"`
	Day      string   `json:"day"` // of UTC+8, as 2025-06-11
	Items    int64    `json:"items"`
	Rejected int64    `json:"rejected"`
	Against  []string `json:"against"` // ids of the last texts that they lost against, at most 5

	number, day int64
}

// Silenced lists the sources that are silenced on the day of the last arrival, the largest first.
func (b *Model) Silenced(ctx context.Context) ([]Silenced, error) {
	return must.Try(func() []Silenced {
		columns := func(s *Silenced) []any { return []any{&s.number, &s.day, &s.Items, &s.Rejected} }
		last := count(ctx, b.cat.Tables(), "last arrival", `SELECT coalesce((SELECT arrived_at FROM items
			ORDER BY ordinal DESC LIMIT 1), 0)`) // not the latest: a clock may have been ahead
		list := must.Get(sqlite.All(ctx, b.reader, columns, `SELECT source, day, items, duplicates FROM source_days
			WHERE day = ? AND items >= ? AND duplicates >= ? * items ORDER BY items DESC, source`,
			dayOf(int64(last)), silencedLeast, silencedShare))
		for i := range list {
			s := &list[i]
			s.Source, s.Day = b.sourceName(ctx, s.number), time.Unix(s.day*86400, 0).UTC().Format(time.DateOnly)
			s.Against = b.lostAgainst(ctx, s)
		}
		return list
	})
}

// lostAgainst are the last texts that articles of a source were rejected for, each once.
func (b *Model) lostAgainst(ctx context.Context, s *Silenced) (ids []string) {
	query := lastCopies(``, `copier = ?1`, `origin = ?1 AND copier <> ?1`)
	for _, c := range b.readCopies(ctx, query, int(s.number), math.MaxUint32, 100).Copies {
		// Others may have copied it, too.
		if c.Copier.Source == s.Source && len(ids) < silencedAgainst && !slices.Contains(ids, c.Origin.ID) {
			ids = append(ids, c.Origin.ID)
		}
	}
	return ids
}

// tellSilenced tells each silenced source of a day once. The lists must be up to date.
func (b *Model) tellSilenced(ctx context.Context) error {
	list, err := b.Silenced(ctx)
	b.silenced.Set(float64(len(list)))
	if err != nil {
		return err
	}
	return must.Catch(func() {
		for i := range list {
			s := &list[i]
			const query = `SELECT count(*) FROM told WHERE source = ? AND day = ?`
			if count(ctx, b.reader, "told", query, s.number, s.day) > 0 {
				continue
			}
			b.cfg.Logger.WarnContext(ctx, "nearly all articles of a source are rejected today", "source", s.Source,
				"items", s.Items, "rejected", s.Rejected)
			if b.cfg.Tell != nil {
				must.Do(b.cfg.Tell(s))
			}
			b.update(ctx, func(tx *transaction) { tx.exec(`INSERT INTO told VALUES (?,?)`, s.number, s.day) })
		}
	})
}
