package browse

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"jianguo/internal/must"
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

// Silenced lists the sources that are silenced on the last day on which anything arrived, the largest first.
func (b *Model) Silenced(ctx context.Context) ([]Silenced, error) {
	return must.Try(func() []Silenced {
		list := read(ctx, b.reader, "silenced sources", `SELECT source, day, items, duplicates FROM source_days
			WHERE day = (SELECT max(hour) * 3600 + ? FROM hours) / 86400 AND items >= ? AND duplicates >= ? * items
			ORDER BY items DESC, source`, func(r *sql.Rows, s *Silenced) error {
			err := r.Scan(&s.number, &s.day, &s.Items, &s.Rejected)
			s.Source, s.Day = b.sourceName(ctx, s.number), time.Unix(s.day*86400, 0).UTC().Format(time.DateOnly)
			return err
		}, zone, silencedLeast, silencedShare)
		for i := range list {
			list[i].Against = b.lostAgainst(ctx, &list[i])
		}
		return list
	})
}

// lostAgainst are the last texts that articles of a source were rejected for, each once.
func (b *Model) lostAgainst(ctx context.Context, s *Silenced) (ids []string) {
	pairs := read(ctx, b.reader, "texts a source lost against", `SELECT ordinal, of FROM copies
		WHERE copier = ?1 OR origin = ?1 ORDER BY ordinal DESC LIMIT 100`, pair, s.number)
	var ordinals []uint32
	for _, p := range pairs {
		ordinals = append(ordinals, p[:]...)
	}
	briefs := must.Get(b.cat.Briefs(ctx, ordinals))
	for _, p := range pairs {
		own, of := briefs[p[0]], briefs[p[1]] // others may have copied it, too
		if own == nil || of == nil || own.Source != s.Source || len(ids) == silencedAgainst ||
			slices.Contains(ids, of.ID) {
			continue
		}
		ids = append(ids, of.ID)
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
