package browse

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"jianguo/index"
	"jianguo/index/sqlite"
	"jianguo/index/verdict"
)

// counts are a batch's additions to the tables of counts, by their keys.
type counts map[count]tally

type count struct {
	table string
	keys  [3]int64
}

type tally [3]int64

func (c counts) add(table string, t tally, keys ...int64) {
	k := count{table: table}
	copy(k.keys[:], keys)
	have := c[k]
	for i := range have {
		have[i] += t[i]
	}
	c[k] = have
}

var countQueries = map[string]string{
	"hours": `INSERT INTO hours VALUES (?1,?4,?5,?6) ON CONFLICT (hour) DO UPDATE SET
		items = items + ?4, duplicates = duplicates + ?5, suspects = suspects + ?6`,
	"source_days": `INSERT INTO source_days VALUES (?1,?2,?4,?5,?6) ON CONFLICT (source, day) DO UPDATE SET
		items = items + ?4, duplicates = duplicates + ?5, suspects = suspects + ?6`,
	"pairs":    `INSERT INTO pairs VALUES (?1,?2,?3,?4) ON CONFLICT (origin, copier, day) DO UPDATE SET n = n + ?4`,
	"pairings": `INSERT INTO pairings VALUES (?1,?2,?4) ON CONFLICT (source, day) DO UPDATE SET n = n + ?4`,
	"families": `INSERT INTO families VALUES (?1,?4) ON CONFLICT (series) DO UPDATE SET n = n + ?4`,
	"delays":   `INSERT INTO delays VALUES (?1,?2,?4) ON CONFLICT (source, bucket) DO UPDATE SET n = n + ?4`,
}

func (c counts) write(w *follower) error {
	for k, t := range c {
		if err := w.exec(countQueries[k.table], k.keys[0], k.keys[1], k.keys[2], t[0], t[1], t[2]); err != nil {
			return fmt.Errorf("%s: %w", k.table, err)
		}
	}
	return nil
}

// count adds the arrival of a version to what is counted.
func (w *follower) count(s *seen) {
	t := tally{1, 0, 0}
	switch s.verdict {
	case verdict.Duplicate:
		t[1] = 1
	case verdict.Suspect:
		t[2] = 1
	}
	w.counts.add("hours", t, s.arrived/3_600_000)
	if s.series != 0 {
		w.counts.add("families", tally{1}, int64(s.series))
	}
	if s.source == 0 {
		return
	}
	w.counts.add("source_days", t, s.source, w.day(s.arrived))
}

// countPair adds a copy to what is known of who copies whom.
func (w *follower) countPair(s *seen) {
	if s.source == 0 || s.ofSource == 0 {
		return
	}
	// Whose it was is a matter of publication, not of delivery.
	origin, copier := s.ofSource, s.source
	mine, theirs := credibleMillis(s.published, s.arrived), credibleMillis(s.ofPublished, s.ofArrived)
	delay := mine - theirs
	if delay < 0 && s.published != 0 && s.ofPublished != 0 {
		origin, copier, delay = copier, origin, -delay
	}
	day := w.day(s.arrived)
	w.counts.add("pairs", tally{1}, origin, copier, day)
	w.counts.add("pairings", tally{1}, origin, day)
	w.counts.add("pairings", tally{1}, copier, day)
	w.counts.add("delays", tally{1}, copier, delayBucket(max(delay, 0)))
}

func credibleMillis(published, arrived int64) int64 {
	if published != 0 && published <= arrived+3_600_000 {
		return published
	}
	return arrived
}

// delayBucket counts quarters of powers of two, in minutes.
func delayBucket(ms int64) int64 {
	return int64(math.Round(4 * math.Log2(1+float64(ms)/60_000)))
}

func bucketDelay(bucket int64) time.Duration {
	return time.Duration((math.Exp2(float64(bucket)/4) - 1) * float64(time.Minute))
}

// HourCount is what arrived within one hour.
type HourCount struct {
	Hour                        time.Time
	Items, Duplicates, Suspects int64
}

// Hours returns the counts by hour of arrival since a time, hours without
// arrivals left out.
func (b *Model) Hours(ctx context.Context, since time.Time) ([]HourCount, error) {
	var out []HourCount
	err := sqlite.Each(ctx, b.reader, `SELECT hour, items, duplicates, suspects FROM hours WHERE hour >= ? ORDER BY hour`, func(r *sql.Rows) error {
		var c HourCount
		var hour int64
		err := r.Scan(&hour, &c.Items, &c.Duplicates, &c.Suspects)
		c.Hour = time.Unix(hour*3600, 0).UTC()
		out = append(out, c)
		return err
	}, since.UnixMilli()/3_600_000)
	if err != nil {
		return nil, fmt.Errorf("browse: hours: %w", err)
	}
	return out, nil
}

// Totals are the counts that pages show live.
type Totals struct {
	Items, Duplicates, Suspects int64 // ever arrived
	Waiting                     int64 // suspects nobody has decided about
	Stories                     int64
	Events                      uint64
}

// Totals counts.
func (b *Model) Totals(ctx context.Context) (Totals, error) {
	var t Totals
	err := b.reader.QueryRowContext(ctx, `SELECT coalesce(sum(items), 0), coalesce(sum(duplicates), 0), coalesce(sum(suspects), 0),
		(SELECT count(*) FROM queue), (SELECT count(*) FROM stories) FROM hours`).Scan(&t.Items, &t.Duplicates, &t.Suspects, &t.Waiting, &t.Stories)
	if err != nil {
		return t, fmt.Errorf("browse: totals: %w", err)
	}
	_, t.Events = b.cat.Applied()
	return t, nil
}

// SourceCount is what a source delivered.
type SourceCount struct {
	Number                      int64
	Name                        string
	Items, Duplicates, Suspects int64
	Delay                       *time.Duration // median behind the original; nil: it copied nothing
	Policy                      string
}

// Sources lists the sources that delivered most since a time.
func (b *Model) Sources(ctx context.Context, since time.Time, limit int) ([]SourceCount, error) {
	var out []SourceCount
	err := sqlite.Each(ctx, b.reader, `SELECT source, sum(items), sum(duplicates), sum(suspects) FROM source_days WHERE day >= ?
		GROUP BY source ORDER BY 2 DESC, 1 LIMIT ?`, func(r *sql.Rows) error {
		var c SourceCount
		err := r.Scan(&c.Number, &c.Items, &c.Duplicates, &c.Suspects)
		out = append(out, c)
		return err
	}, b.day(since.UnixMilli()), limit)
	if err != nil {
		return nil, fmt.Errorf("browse: sources: %w", err)
	}
	policies, err := b.cat.SourcePolicies(ctx)
	if err != nil {
		return nil, err
	}
	names, err := b.sourceNames(ctx)
	if err != nil {
		return nil, err
	}
	delays, err := b.medianDelays(ctx)
	if err != nil {
		return nil, err
	}
	for i := range out {
		c := &out[i]
		c.Name, c.Policy = names[c.Number], index.SourceNormal
		if d, ok := delays[c.Number]; ok {
			c.Delay = &d
		}
		if p, ok := policies[c.Name]; ok {
			c.Policy = p.Policy
		}
	}
	return out, nil
}

// SourceNames lists the sources that delivered most since the day of a time, by
// name.
func (b *Model) SourceNames(ctx context.Context, since time.Time, limit int) ([]string, error) {
	known, err := b.sourceNames(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	err = sqlite.Each(ctx, b.reader, `SELECT source, sum(items) FROM source_days WHERE day >= ? GROUP BY source ORDER BY 2 DESC, 1 LIMIT ?`, func(r *sql.Rows) error {
		var number, n int64
		err := r.Scan(&number, &n)
		names = append(names, known[number])
		return err
	}, b.day(since.UnixMilli()), limit)
	if err != nil {
		return nil, fmt.Errorf("browse: sources: %w", err)
	}
	return names, nil
}

// sourceNames returns the names of all sources. There are few thousands of
// them, however many items.
func (b *Model) sourceNames(ctx context.Context) (map[int64]string, error) {
	names := map[int64]string{}
	err := sqlite.Each(ctx, b.cat.Tables(), `SELECT number, name FROM sources`, func(r *sql.Rows) error {
		var number int64
		var name string
		err := r.Scan(&number, &name)
		names[number] = name
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("browse: sources: %w", err)
	}
	return names, nil
}

func (b *Model) medianDelays(ctx context.Context) (map[int64]time.Duration, error) {
	type half struct{ source, bucket, n int64 }
	var all []half
	total := map[int64]int64{}
	err := sqlite.Each(ctx, b.reader, `SELECT source, bucket, n FROM delays ORDER BY source, bucket`, func(r *sql.Rows) error {
		var h half
		err := r.Scan(&h.source, &h.bucket, &h.n)
		all = append(all, h)
		total[h.source] += h.n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("browse: delays: %w", err)
	}
	medians, sum := map[int64]time.Duration{}, map[int64]int64{}
	for _, h := range all {
		if sum[h.source] += h.n; 2*sum[h.source] >= total[h.source] {
			if _, ok := medians[h.source]; !ok {
				medians[h.source] = bucketDelay(h.bucket)
			}
		}
	}
	return medians, nil
}

// Copied is how often one source's articles came again from another.
type Copied struct {
	Origin, Copier string
	N              int64
}

// Matrix is who copied whom.
type Matrix struct {
	Names []string // those that copy or are copied most, in that order
	Pairs []Copied // among them
}

// Matrix says who copied whom since the day of a time, among those that copied
// or were copied most.
func (b *Model) Matrix(ctx context.Context, since time.Time, limit int) (*Matrix, error) {
	day := b.day(since.UnixMilli())
	known, err := b.sourceNames(ctx)
	if err != nil {
		return nil, err
	}
	m := new(Matrix)
	var numbers []int64
	err = sqlite.Each(ctx, b.reader, `SELECT source, sum(n) FROM pairings WHERE day >= ? GROUP BY source ORDER BY 2 DESC, 1 LIMIT ?`, func(r *sql.Rows) error {
		var source, n int64
		err := r.Scan(&source, &n)
		numbers, m.Names = append(numbers, source), append(m.Names, known[source])
		return err
	}, day, limit)
	if err != nil {
		return nil, fmt.Errorf("browse: matrix: %w", err)
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return nil, err
	}
	// A look-up for each pair of the few, whatever the others did.
	err = sqlite.Each(ctx, b.reader, `SELECT o.value, c.value, (SELECT sum(n) FROM pairs p WHERE p.origin = o.value AND p.copier = c.value AND p.day >= ?1) AS n
		FROM json_each(?2) o, json_each(?2) c WHERE n > 0`, func(r *sql.Rows) error {
		var origin, copier int64
		var c Copied
		err := r.Scan(&origin, &copier, &c.N)
		c.Origin, c.Copier = known[origin], known[copier]
		m.Pairs = append(m.Pairs, c)
		return err
	}, day, string(list))
	if err != nil {
		return nil, fmt.Errorf("browse: matrix: %w", err)
	}
	return m, nil
}

// Family is a series of bulletins: one form filled with other facts.
type Family struct {
	First *index.Brief // its first known member
	N     int64        // members that followed
}

// Families lists the largest series.
func (b *Model) Families(ctx context.Context, limit int) ([]Family, error) {
	var out []Family
	var firsts []uint32
	err := sqlite.Each(ctx, b.reader, `SELECT series, n FROM families ORDER BY n DESC LIMIT ?`, func(r *sql.Rows) error {
		var f Family
		var first uint32
		err := r.Scan(&first, &f.N)
		out, firsts = append(out, f), append(firsts, first)
		return err
	}, limit)
	if err != nil {
		return nil, fmt.Errorf("browse: families: %w", err)
	}
	briefs, err := b.cat.Briefs(ctx, firsts)
	for i := range out {
		out[i].First = briefs[firsts[i]]
	}
	return out, err
}
