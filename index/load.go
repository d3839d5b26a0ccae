package index

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/zeebo/xxh3"

	"jianguo/index/reindex"
	"jianguo/index/resident"
)

// loader makes resident what look-ups need.
type loader struct{ *catalogue }

// load makes resident what look-ups need, from the catalogue.
func (x loader) load(ctx context.Context) error {
	for _, step := range []func(context.Context) error{x.loadMeta, x.loadStamps, x.loadSources, x.loadClusters, x.loadItems} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (x loader) loadMeta(ctx context.Context) error {
	values := map[string]string{}
	err := each(ctx, x.reader, `SELECT key, value FROM meta`, func(r *sql.Rows) error {
		var k, v string
		err := r.Scan(&k, &v)
		values[k] = v
		return err
	})
	if err != nil {
		return err
	}
	for key, field := range map[string]*uint64{"applied": &x.applied, "stream_base": &x.stream.Base} {
		if text, ok := values[key]; ok {
			if *field, err = strconv.ParseUint(text, 10, 64); err != nil {
				return fmt.Errorf("meta %s: %w", key, err)
			}
		}
	}
	if x.overlay, err = reindex.Parse(values[reindex.InForce]); err != nil {
		return err
	}
	x.stream.Identity = values["stream_identity"]
	var ordinal, event sql.NullInt64
	if err := x.reader.QueryRowContext(ctx, `SELECT (SELECT max(ordinal) FROM items), (SELECT max(number) FROM events)`).Scan(&ordinal, &event); err != nil {
		return err
	}
	x.nextOrdinal, x.nextEvent = uint32(ordinal.Int64)+1, uint64(event.Int64)+1
	x.events = uint64(event.Int64)
	return nil
}

func (x loader) loadStamps(ctx context.Context) error {
	x.stampHashes = map[int64]string{}
	return each(ctx, x.reader, `SELECT number, kind, hash FROM stamps`, func(r *sql.Rows) error {
		var n int64
		var kind, hash string
		err := r.Scan(&n, &kind, &hash)
		x.nextStamp[kind+hash] = n
		x.stampHashes[n] = hash
		return err
	})
}

func (x loader) loadSources(ctx context.Context) error {
	return each(ctx, x.reader, `SELECT number, name FROM sources`, func(r *sql.Rows) error {
		var n int64
		var name string
		err := r.Scan(&n, &name)
		x.sources[name] = n
		return err
	})
}

func (x loader) loadClusters(ctx context.Context) error {
	return each(ctx, x.reader, `SELECT id, lead, coalesce(merged_into, 0) FROM clusters WHERE lead != id OR merged_into IS NOT NULL`, func(r *sql.Rows) error {
		var id, lead, merged uint32
		err := r.Scan(&id, &lead, &merged)
		x.clusters.Set(id, lead, merged)
		return err
	})
}

// loadItems makes versions, look-ups and postings resident: from the snapshot
// and what has changed since, or from every row.
func (x loader) loadItems(ctx context.Context) (err error) {
	random, err := x.readIdentity(ctx)
	if err != nil {
		return err
	}
	x.identity = x.overlay.SnapshotOf(random)
	tables, m, err := x.snapshot.Load(ctx, x.identity, x.last(), x.cfg.Progress)
	switch {
	case errors.Is(err, resident.ErrSnapshot):
		if err != resident.ErrSnapshot || x.nextOrdinal > 100_000 {
			x.log.WarnContext(ctx, "building the resident index from the catalogue", "items", x.nextOrdinal-1, "reason", err)
		}
		return x.rebuild(ctx)
	case err != nil:
		return err
	}
	x.log.DebugContext(ctx, "snapshot loaded", "items", m.Ordinal, "of", x.nextOrdinal-1, "events", m.Event)
	x.setTables(tables)
	x.snapshotEvent.Store(m.Event)
	return x.replay(ctx, m)
}

// loadStep is how many rows pass between two reports of progress. What is
// reported is the rows that a snapshot does not hold: its tail after a crash,
// or all of them.
const loadStep = 8192

// loadRows makes versions and look-ups resident from the rows after an ordinal,
// and puts what has changed since arrival on top.
func (x loader) loadRows(ctx context.Context, after int64, put func(ordinal uint32, id, exact []byte)) error {
	total := int64(x.nextOrdinal) - 1 - after
	err := each(ctx, x.reader, `SELECT ordinal, id, exact, arrived_at, verdict, cluster FROM `+x.overlay.Compared()+` WHERE ordinal > ? ORDER BY ordinal`, func(r *sql.Rows) error {
		var ordinal, cluster uint32
		var id, exact sql.RawBytes
		var arrivedAt int64
		var verdict Verdict
		if err := r.Scan(&ordinal, &id, &exact, &arrivedAt, &verdict, &cluster); err != nil {
			return err
		}
		x.rows.Set(ordinal, resident.Arrival(verdict, exact == nil), cluster, uint32(arrivedAt/1000))
		put(ordinal, id, exact)
		if ordinal%loadStep == 0 {
			x.cfg.Progress("items", int64(ordinal)-after, total)
		}
		return nil
	}, after)
	if err != nil {
		return err
	}
	err = each(ctx, x.reader, `SELECT ordinal, cluster, flags FROM current`, func(r *sql.Rows) error {
		var ordinal, cluster uint32
		var f resident.Flags
		err := r.Scan(&ordinal, &cluster, &f)
		x.rows.SetFlags(ordinal, f|x.rows.Flags(ordinal)&resident.Swept)
		x.rows.SetCluster(ordinal, cluster)
		return err
	})
	if err != nil {
		return err
	}
	// A cluster that has grown since was touched after the last row known then;
	// a day is for clocks that go back.
	since := int64(x.rows.Arrived(uint32(after)))*1000 - 24*3600*1000
	return each(ctx, x.reader, `SELECT id, last_at FROM clusters WHERE last_at >= ?`, func(r *sql.Rows) error {
		var id uint32
		var last int64
		err := r.Scan(&id, &last)
		x.rows.Touch(id, max(x.rows.Touched(id), uint32(last/1000)))
		return err
	}, since)
}

// postings calls f for every exemplar after an ordinal.
func (x loader) postings(ctx context.Context, after int64, f func(ordinal uint32, p resident.Posting)) error {
	total := int64(x.nextOrdinal) - 1 - after
	return each(ctx, x.reader, `SELECT ordinal, fingerprint, sketch FROM `+x.overlay.Compared()+` WHERE ordinal > ? ORDER BY ordinal`, func(r *sql.Rows) error {
		var ordinal uint32
		var fingerprint int64
		var encoded sql.RawBytes
		if err := r.Scan(&ordinal, &fingerprint, &encoded); err != nil {
			return err
		}
		if x.rows.Flags(ordinal)&resident.Exemplar == 0 {
			return nil
		}
		p, err := resident.DecodePosting(fingerprint, encoded)
		if err != nil {
			return fmt.Errorf("sketch of ordinal %d: %w", ordinal, err)
		}
		f(ordinal, p)
		if ordinal%loadStep == 0 {
			x.cfg.Progress("postings", int64(ordinal)-after, total)
		}
		return nil
	}, after)
}

// rebuild derives everything resident from the rows.
func (x loader) rebuild(ctx context.Context) error {
	err := x.loadRows(ctx, 0, func(ordinal uint32, id, exact []byte) {
		x.ids.Put(xxh3.Hash(id), ordinal)
		if exact != nil {
			x.exacts.Put(resident.ExactKey(exact), ordinal)
		}
	})
	if err != nil {
		return err
	}
	return x.postings(ctx, 0, func(ordinal uint32, p resident.Posting) { p.AddTo(x.bands, ordinal) })
}

// replay brings what a snapshot held up to the catalogue. Its pages may hold
// some of that already, so that everything here can be done twice.
func (x loader) replay(ctx context.Context, m resident.Mark) error {
	err := x.loadRows(ctx, m.Ordinal, func(ordinal uint32, id, exact []byte) {
		x.ids.Put(xxh3.Hash(id), ordinal)
		if exact != nil {
			x.exacts.Put(resident.ExactKey(exact), ordinal)
		}
	})
	if err != nil {
		return err
	}
	if err := x.postings(ctx, m.Ordinal, func(ordinal uint32, p resident.Posting) { p.SetIn(x.bands, ordinal) }); err != nil {
		return err
	}
	if err := x.settle(ctx, m.Event); err != nil {
		return err
	}
	// Older versions that have changed: whether they are exemplars now.
	var changed int64
	return each(ctx, x.reader, `SELECT ordinal, fingerprint, sketch FROM `+x.overlay.Compared()+`
		WHERE ordinal IN (SELECT ordinal FROM events WHERE number > ?) AND ordinal <= ?`, func(r *sql.Rows) error {
		var ordinal uint32
		var fingerprint int64
		var encoded sql.RawBytes
		if err := r.Scan(&ordinal, &fingerprint, &encoded); err != nil {
			return err
		}
		if changed++; changed%loadStep == 0 {
			x.cfg.Progress("changes", changed, int64(x.nextEvent)-1-m.Event)
		}
		p, err := resident.DecodePosting(fingerprint, encoded)
		if err != nil {
			return fmt.Errorf("sketch of ordinal %d: %w", ordinal, err)
		}
		if x.rows.Flags(ordinal)&resident.Exemplar != 0 {
			p.SetIn(x.bands, ordinal)
		} else {
			p.RemoveFrom(x.bands, ordinal)
		}
		return nil
	}, m.Event, m.Ordinal)
}

// readIdentity returns a random number that ties a snapshot to its catalogue.
func (x loader) readIdentity(ctx context.Context) (int64, error) {
	var text string
	err := x.reader.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'identity'`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		var b [8]byte
		_, _ = rand.Read(b[:]) // does not fail
		text = hex.EncodeToString(b[:])
		_, err = x.writer.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES ('identity', ?)`, text)
	}
	if err != nil {
		return 0, fmt.Errorf("identity: %w", err)
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 8 {
		return 0, fmt.Errorf("identity %q of the catalogue is damaged", text)
	}
	return int64(binary.LittleEndian.Uint64(b) >> 1), nil
}

// settle makes postings and columns agree after a start: a snapshot's columns
// may still call swept what was posted again while it was written.
func (x loader) settle(ctx context.Context, after int64) error {
	at := x.horizon()
	changed := map[uint32]bool{}
	err := each(ctx, x.reader, `SELECT ordinal, cluster FROM events WHERE number > ?`, func(r *sql.Rows) error {
		var ordinal, cluster uint32
		err := r.Scan(&ordinal, &cluster)
		changed[ordinal], changed[cluster] = true, true
		return err
	}, after)
	if err != nil {
		return err
	}
	for ordinal := range x.nextOrdinal {
		f := x.rows.Flags(ordinal)
		if f&resident.Swept == 0 || x.rows.Over(&x.policy, &x.clusters, ordinal, at) && !changed[ordinal] {
			continue
		}
		x.rows.SetFlags(ordinal, f&^resident.Swept)
		if f&resident.Exemplar == 0 {
			continue
		}
		p, err := x.readPosting(ctx, ordinal)
		if err != nil {
			return err
		}
		p.SetIn(x.bands, ordinal)
	}
	return nil
}

// warnOfRecipe says so where the first or the last versions are compared by
// another recipe than new ones: the whole table would take a while to ask.
func (x loader) warnOfRecipe(ctx context.Context) error {
	if x.cfg.Recipe == nil || x.nextOrdinal == 1 {
		return nil
	}
	var first, last int64
	err := x.reader.QueryRowContext(ctx, `SELECT (SELECT recipe FROM items WHERE ordinal = 1), (SELECT recipe FROM items WHERE ordinal = ?)`, x.nextOrdinal-1).Scan(&first, &last)
	if err != nil {
		return err
	}
	if x.overlay.Recipe != 0 {
		if first = x.overlay.Recipe; x.overlay.Through == x.nextOrdinal-1 {
			last = first
		}
	}
	for _, theirs := range []int64{first, last} {
		if theirs != x.recipeStamp {
			x.log.WarnContext(ctx, "older items have fingerprints of another recipe, and meet new texts less well: run `jianguo reindex`", "recipe", x.recipe, "theirs", x.stampHash(theirs))
			return nil
		}
	}
	return nil
}
