package resident

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/zeebo/xxh3"

	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Builder fills tables from the rows of a catalogue. Nothing may write meanwhile, except
// during Outlines. Every field is required. Its unexported methods panic on errors (must).
type Builder struct {
	Tables
	DB       *sql.DB // read-only connections
	Compared string  // the table or view of what versions are compared by
	Last     Mark    // the end of the catalogue
	Policy   *verdict.Policy
	Clusters *Clusters
	Progress func(stage string, done, total int64)
}

// loadStep is the number of rows between two reports of progress. Reports count the
// rows that the snapshot does not hold: those after it, or all.
const loadStep = 8192

// loadRows fills rows and look-ups from the versions after an ordinal, and then applies
// the changes since their arrival.
func (b *Builder) loadRows(ctx context.Context, after int64) {
	total := b.Last.Ordinal - after
	query := `SELECT ordinal, id, exact, arrived_at, verdict, cluster FROM ` + b.Compared +
		` WHERE ordinal > ? ORDER BY ordinal`
	for r := range sqlite.Rows(ctx, b.DB, query, after) {
		var ordinal, cluster uint32
		var id, exact sql.RawBytes
		var arrivedAt int64
		var v verdict.Verdict
		must.Do(r.Scan(&ordinal, &id, &exact, &arrivedAt, &v, &cluster))
		b.Rows.Set(ordinal, Arrival(v, exact == nil), cluster, uint32(arrivedAt/1000))
		b.IDs.Put(xxh3.Hash(id), ordinal)
		if exact != nil {
			b.Exacts.Put(ExactKey(exact), ordinal)
		}
		if ordinal%loadStep == 0 {
			b.Progress("items", int64(ordinal)-after, total)
		}
	}
	for r := range sqlite.Rows(ctx, b.DB, `SELECT ordinal, cluster, flags FROM current`) {
		var ordinal, cluster uint32
		var f Flags
		must.Do(r.Scan(&ordinal, &cluster, &f))
		b.exists("current", ordinal)
		b.Rows.SetFlags(ordinal, f|b.Rows.Flags(ordinal)&Swept)
		b.Rows.SetCluster(ordinal, cluster)
	}
	// A cluster that has grown since was touched after the arrival of the last row of
	// the snapshot. Clocks may go back by up to a day.
	since := int64(b.Rows.Arrived(uint32(after)))*1000 - 24*3600*1000
	query = `SELECT id, last_at FROM clusters WHERE last_at >= ?`
	for id, last := range sqlite.Pairs[uint32, int64](ctx, b.DB, query, since) {
		b.exists("clusters", id)
		b.Rows.Touch(id, max(b.Rows.Touched(id), uint32(last/1000)))
	}
}

// exists ends the load if a table names a version that is not there: the file is damaged.
func (b *Builder) exists(table string, ordinal uint32) {
	if b.Rows.Flags(ordinal) == 0 {
		must.Do(fmt.Errorf("table %s: there is no version %d", table, ordinal))
	}
}

// postings reads the postings of versions, and calls f for those of exemplars, or of all.
func (b *Builder) postings(
	ctx context.Context, stage string, total int64, all bool, f func(ordinal uint32, p Posting),
	where string, args ...any,
) {
	var done int64
	query := `SELECT ordinal, fingerprint, sketch FROM ` + b.Compared + ` WHERE ` + where
	for r := range sqlite.Rows(ctx, b.DB, query, args...) {
		var ordinal uint32
		var fingerprint int64
		var encoded sql.RawBytes
		must.Do(r.Scan(&ordinal, &fingerprint, &encoded))
		if done++; done%loadStep == 0 {
			b.Progress(stage, done, total)
		}
		if all || b.Rows.Flags(ordinal)&Exemplar != 0 {
			f(ordinal, must.Get(DecodePosting(ordinal, fingerprint, encoded)))
		}
	}
}

// Load brings tables up to the catalogue: empty ones, or those of a snapshot. Its pages may
// hold some of that already, so that everything here can be done twice.
func (b *Builder) Load(ctx context.Context, from Mark) error {
	return must.Catch(func() {
		b.loadRows(ctx, from.Ordinal)
		post := b.post
		if from == (Mark{}) {
			post = func(ordinal uint32, p Posting) { p.AddTo(b.Bands, ordinal) }
		}
		b.postings(ctx, "postings", b.Last.Ordinal-from.Ordinal, false, post, `ordinal > ? ORDER BY ordinal`,
			from.Ordinal)
		if from == (Mark{}) {
			return // every row has been read as it is now
		}
		b.repostSwept(ctx, from.Event)
		// Versions that have changed may have become exemplars, or ceased to be: those after
		// the mark, too, since pages may hold their postings.
		const changed = `ordinal IN (SELECT ordinal FROM events WHERE number > ?)
			AND ordinal IN (SELECT ordinal FROM current)`
		b.postings(ctx, "changes", b.Last.Event-from.Event, true, b.post, changed, from.Event)
	})
}

// post adds the posting of an exemplar, which may be there already, and removes that of another version.
func (b *Builder) post(ordinal uint32, p Posting) {
	p.RemoveFrom(b.Bands, ordinal)
	if b.Rows.Flags(ordinal)&Exemplar != 0 {
		p.AddTo(b.Bands, ordinal)
	}
}

// repostSwept makes postings and flags agree after a start. A snapshot may still have the
// flag Swept of a version that was posted again while the snapshot was written.
func (b *Builder) repostSwept(ctx context.Context, after int64) {
	at := b.Rows.Horizon(uint32(b.Last.Ordinal))
	changed := map[uint32]bool{}
	query := `SELECT ordinal, cluster FROM events WHERE number > ?`
	for ordinal, cluster := range sqlite.Pairs[uint32, uint32](ctx, b.DB, query, after) {
		changed[ordinal], changed[cluster] = true, true
	}
	for ordinal := range uint32(b.Last.Ordinal) + 1 {
		f := b.Rows.Flags(ordinal)
		if f&Swept == 0 || b.Rows.Over(b.Policy, b.Clusters, ordinal, at) && !changed[ordinal] {
			continue
		}
		b.Rows.SetFlags(ordinal, f&^Swept)
		if f&Exemplar != 0 {
			b.post(ordinal, must.Get(ReadPosting(ctx, b.DB, b.Compared, ordinal)))
		}
	}
}
