package indexbench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"time"

	_ "github.com/mattn/go-sqlite3" // the rows baseline

	"jianguo/simhash"
)

// scanS is the S below which results are counted: more than 95 % of real copies are
// below it.
const scanS = 5

// scan times a popcount scan over all indexed fingerprints, and compares the margin
// look-up with a scan at S < scanS. Most fingerprints that such a scan finds are
// unrelated.
func (b *run) scan(ctx context.Context) error {
	b.res.ScanS = scanS
	probe := b.probe()
	all := make([]simhash.Fingerprint, 0, b.N)
	for from := uint64(0); from < b.N; from += 1 << 16 {
		b.Progress("fingerprints", int64(from), int64(b.N))
		part := all[from:min(from+1<<16, b.N)]
		parallel(len(part), func(k int) { part[k] = b.p.Fingerprint(from + uint64(k)) })
		all = all[:int(from)+len(part)]
	}
	n := 0
	for i, f := range all {
		if b.indexed(uint64(i)) {
			all[n] = f
			n++
		}
	}
	all = all[:n]
	queries := min(b.Queries, max(20, int(400_000_000/b.N)))
	var took []float64
	var found, there int
	for k := range queries {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.Progress("scanning", int64(k), int64(queries))
		q, _, _ := b.query(k, b.N)
		start := time.Now()
		near := 0
		for _, f := range all {
			if bits.OnesCount64(uint64(f^q.Fingerprint)) <= 3 {
				near++
			}
		}
		took = append(took, micros(time.Since(start)))
		for _, f := range all {
			if q.S(f) < scanS {
				there++
			}
		}
		found += len(probe.within(&q, scanS))
		b.near += near
	}
	b.res.ScanP50, _, _ = percentiles(took)
	b.res.MarginFoundAll = share(found, there)
	return nil
}

func share(part, of int) float64 {
	if of == 0 {
		return 0 // an empty measurement is not a success
	}
	return float64(part) / float64(of)
}

// rows builds the four bands as SQLite rows (band, key, fingerprint, item) and
// asks them: what the resident bands stand in for.
func (b *run) rows(ctx context.Context) (err error) {
	n, path := min(b.Rows, int(b.N)), filepath.Join(b.Dir, "rows.db")
	for _, left := range []string{path, path + "-wal", path + "-shm"} { // by a former run
		if err := os.Remove(left); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous=FULL&_cache_size=-262144")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, `CREATE TABLE bands (band INTEGER, key INTEGER, fingerprint INTEGER, item INTEGER, PRIMARY KEY (band, key, item)) WITHOUT ROWID`); err != nil {
		return err
	}
	start := time.Now()
	for from := 0; from < n; from += b.Batch {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		stmt, err := tx.PrepareContext(ctx, `INSERT INTO bands VALUES (?,?,?,?)`)
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
		for i := from; i < min(from+b.Batch, n); i++ {
			f := b.p.Fingerprint(uint64(i))
			for band := range 4 {
				if _, err := stmt.ExecContext(ctx, band, bandKey(f, band), int64(f), i); err != nil {
					return errors.Join(err, tx.Rollback())
				}
			}
		}
		if err := errors.Join(stmt.Close(), tx.Commit()); err != nil {
			return err
		}
		b.Progress("SQLite rows", int64(from), int64(n))
	}
	b.res.RowsN, b.res.Rows = n, float64(n)/time.Since(start).Seconds()
	return b.askRows(ctx, db)
}

func bandKey(f simhash.Fingerprint, band int) int { return int(f>>(48-16*band)) & 0xffff }

func (b *run) askRows(ctx context.Context, db *sql.DB) error {
	stmt, err := db.PrepareContext(ctx, `SELECT fingerprint, item FROM bands WHERE band = ? AND key = ?`)
	if err != nil {
		return err
	}
	defer stmt.Close()
	var took []float64
	for k := range min(b.Queries, 500) {
		q, _, _ := b.query(k, b.N)
		start := time.Now()
		near := 0
		for band := range 4 {
			rows, err := stmt.QueryContext(ctx, band, bandKey(q.Fingerprint, band))
			if err != nil {
				return err
			}
			for rows.Next() {
				var f, item int64
				if err := rows.Scan(&f, &item); err != nil {
					return errors.Join(err, rows.Close())
				}
				if simhash.Distance(simhash.Fingerprint(f), q.Fingerprint) <= 3 {
					near++
				}
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return fmt.Errorf("rows: %w", err)
			}
		}
		took = append(took, micros(time.Since(start)))
	}
	b.res.RowsP50, _, _ = percentiles(took)
	return nil
}
