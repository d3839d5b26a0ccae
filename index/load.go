package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/zeebo/xxh3"

	"jianguo/simhash"
	"jianguo/sketch"
)

// load makes resident what look-ups need, from the catalogue.
func (x *Index) load(ctx context.Context) error {
	for _, step := range []func(context.Context) error{x.loadMeta, x.loadStamps, x.loadSources, x.loadClusters, x.loadItems} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) loadMeta(ctx context.Context) error {
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
	x.stream.Identity = values["stream_identity"]
	var ordinal, event sql.NullInt64
	if err := x.reader.QueryRowContext(ctx, `SELECT (SELECT max(ordinal) FROM items), (SELECT max(number) FROM events)`).Scan(&ordinal, &event); err != nil {
		return err
	}
	x.nextOrdinal, x.nextEvent = uint32(ordinal.Int64)+1, uint64(event.Int64)+1
	x.events = uint64(event.Int64)
	return nil
}

func (x *Index) loadStamps(ctx context.Context) error {
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

func (x *Index) loadSources(ctx context.Context) error {
	return each(ctx, x.reader, `SELECT number, name FROM sources`, func(r *sql.Rows) error {
		var n int64
		var name string
		err := r.Scan(&n, &name)
		x.sources[name] = n
		return err
	})
}

func (x *Index) loadClusters(ctx context.Context) error {
	return each(ctx, x.reader, `SELECT id, lead, coalesce(merged_into, 0) FROM clusters WHERE lead != id OR merged_into IS NOT NULL`, func(r *sql.Rows) error {
		var id, lead, merged uint32
		err := r.Scan(&id, &lead, &merged)
		x.clusters.set(id, lead, merged)
		return err
	})
}

// loadItems rebuilds columns, look-ups and postings from the rows: first what
// each row says, then what `current` says of those that changed, then the
// postings of those that are exemplars.
func (x *Index) loadItems(ctx context.Context) error {
	total := int64(x.nextOrdinal) - 1
	err := each(ctx, x.reader, `SELECT ordinal, id, exact, arrived_at, verdict, cluster FROM items ORDER BY ordinal`, func(r *sql.Rows) error {
		var ordinal, cluster uint32
		var id, exact sql.RawBytes
		var arrivedAt int64
		var verdict Verdict
		if err := r.Scan(&ordinal, &id, &exact, &arrivedAt, &verdict, &cluster); err != nil {
			return err
		}
		x.columns.set(ordinal, arrival(verdict, exact == nil), cluster, uint32(arrivedAt/1000))
		x.ids.Put(xxh3.Hash(id), ordinal)
		if exact != nil {
			x.exacts.Put(exactKey(exact), ordinal)
		}
		if ordinal%65536 == 0 {
			x.cfg.Progress("items", int64(ordinal), total)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = each(ctx, x.reader, `SELECT ordinal, cluster, flags FROM current`, func(r *sql.Rows) error {
		var ordinal, cluster uint32
		var f flags
		err := r.Scan(&ordinal, &cluster, &f)
		x.columns.setFlags(ordinal, f)
		x.columns.setCluster(ordinal, cluster)
		return err
	})
	if err != nil {
		return err
	}
	err = each(ctx, x.reader, `SELECT id, last_at FROM clusters`, func(r *sql.Rows) error {
		var id uint32
		var last int64
		err := r.Scan(&id, &last)
		x.columns.touch(id, uint32(last/1000))
		return err
	})
	if err != nil {
		return err
	}
	return each(ctx, x.reader, `SELECT ordinal, fingerprint, sketch FROM items ORDER BY ordinal`, func(r *sql.Rows) error {
		var ordinal uint32
		var fingerprint int64
		var encoded sql.RawBytes
		if err := r.Scan(&ordinal, &fingerprint, &encoded); err != nil {
			return err
		}
		if x.columns.flags(ordinal)&flagExemplar == 0 {
			return nil
		}
		sk, err := sketch.Decode(encoded)
		if err != nil {
			return fmt.Errorf("sketch of ordinal %d: %w", ordinal, err)
		}
		x.post(ordinal, simhash.Fingerprint(fingerprint), postingKeys(&sk))
		if ordinal%65536 == 0 {
			x.cfg.Progress("postings", int64(ordinal), total)
		}
		return nil
	})
}

// each calls f for every row of a query.
func each(ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, query string, f func(*sql.Rows) error, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := f(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
