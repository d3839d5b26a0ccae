package main

import (
	"context"
	"database/sql"
	"errors"
	"math/bits"
	"os"
	"path/filepath"
	"time"

	_ "github.com/mattn/go-sqlite3" // the rows baseline

	"jianguo/simhash"
)

// scan times a popcount scan over all fingerprints.
func (b *indexBench) scan(ctx context.Context) error {
	all := make([]simhash.Fingerprint, b.N)
	onAllCores(len(all), func(i int) { all[i] = b.items.Fingerprint(uint64(i)) })
	var took samples
	queries := min(b.Queries, max(20, int(400_000_000/b.N)))
	for k := range queries {
		b.progress("scanning", int64(k), int64(queries))
		q, _, _ := b.query(k, b.N)
		start := time.Now()
		for _, f := range all {
			if bits.OnesCount64(uint64(f^q.Fingerprint)) <= 3 {
				b.near++
			}
		}
		took = append(took, micros(time.Since(start)))
	}
	b.res.ScanP50 = took.median()
	return ctx.Err()
}

// rowsMost bounds the items of the baseline in SQLite rows.
const rowsMost = 1_000_000

// rows builds the four bands as SQLite rows and asks them: what the resident bands stand in for.
func (b *indexBench) rows(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp(b.Dir, "rows-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "rows.db")+"?_journal_mode=OFF&_cache_size=-262144")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing after Commit
	_, err = tx.ExecContext(ctx, `CREATE TABLE bands (band INTEGER, key INTEGER, fingerprint INTEGER, item INTEGER,
		PRIMARY KEY (band, key, item)) WITHOUT ROWID`)
	if err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, `INSERT INTO bands VALUES (?,?,?,?)`)
	if err != nil {
		return err
	}
	b.res.RowsN = min(rowsMost, int(b.N))
	for i := range b.res.RowsN {
		f := b.items.Fingerprint(uint64(i))
		for band := range 4 {
			if _, err := insert.ExecContext(ctx, band, bandKey(f, band), int64(f), i); err != nil {
				return err
			}
		}
		b.progress("SQLite rows", int64(i), int64(b.res.RowsN))
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	ask, err := db.PrepareContext(ctx, `SELECT fingerprint FROM bands WHERE band = ? AND key = ?`)
	if err != nil {
		return err
	}
	defer ask.Close()
	var took samples
	for k := range min(b.Queries, 500) {
		q, _, _ := b.query(k, b.N)
		start := time.Now()
		if err := b.askRows(ctx, ask, q.Fingerprint); err != nil {
			return err
		}
		took = append(took, micros(time.Since(start)))
	}
	b.res.RowsP50 = took.median()
	return nil
}

func bandKey(f simhash.Fingerprint, band int) int { return int(f>>(48-16*band)) & 0xffff }

// askRows looks a fingerprint up in the four bands.
func (b *indexBench) askRows(ctx context.Context, ask *sql.Stmt, q simhash.Fingerprint) error {
	for band := range 4 {
		rows, err := ask.QueryContext(ctx, band, bandKey(q, band))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var f int64
			if err := rows.Scan(&f); err != nil {
				return err
			}
			if simhash.Distance(simhash.Fingerprint(f), q) <= 3 {
				b.near++
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	return nil
}
