// Package sizes measures the files of a catalogue, and the memory that its tables take.
package sizes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"jianguo/index"
	"jianguo/index/resident"
	"jianguo/internal/sqlite"
)

// Size is the size of one part of the data directory.
type Size struct {
	File  string `json:"file"`
	Part  string `json:"part"` // a table, or the rest of a file
	Bytes int64  `json:"bytes"`
	// Kept says that it holds kept texts, or data for browsing, which judging does
	// not need.
	Kept bool `json:"kept,omitempty"`
}

// What a posting takes, without slack: postingBytes in each band, keyBytes under each key.
const (
	postingBytes = 10
	keyBytes     = 8
)

// Resident returns how many bytes tables take: the four bands of the fingerprints, and
// everything by part, those included.
func Resident(t resident.Tables) (inBands int64, parts map[string]int64) {
	s := t.Bands.Stats()
	inBands = s.Bytes
	if s.Fingerprints > 0 {
		wide, narrow := 4*int64(s.Fingerprints)*postingBytes, int64(s.KeyPostings)*keyBytes
		inBands = int64(float64(s.Bytes) * float64(wide) / float64(wide+narrow))
	}
	return inBands, map[string]int64{
		"bands": inBands, "keys": s.Bytes - inBands, "ids": t.IDs.Bytes(), "exact": t.Exacts.Bytes(),
		"versions": t.Rows.Bytes(),
	}
}

// Of returns the bytes on disk: the catalogue by table, and the snapshot as a whole. Nothing may
// write meanwhile.
func Of(ctx context.Context, dir string) (sizes []Size, err error) {
	path := filepath.Join(dir, index.FileName)
	db, err := sqlite.Open(path, sqlite.Writes, "FULL")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		return nil, fmt.Errorf("sizes: %w", err)
	}
	parts, err := tables(ctx, db, path)
	if err != nil {
		return nil, fmt.Errorf("sizes: %w", err)
	}
	for _, p := range parts {
		sizes = append(sizes, Size{File: index.FileName, Part: p.name, Bytes: p.bytes, Kept: p.name == "texts"})
	}
	if info, err := os.Stat(filepath.Join(dir, index.SnapshotFileName)); err == nil {
		sizes = append(sizes, Size{File: index.SnapshotFileName, Part: "pages", Bytes: info.Size()})
	}
	return sizes, nil
}

// part is a table of a file, or the rest of the file.
type part struct {
	name  string
	bytes int64
}

// tables returns the bytes of the values in each table of a SQLite file, the largest table
// first, and what the file, which must not have a log, takes in addition: indexes, the
// structure of pages, and free pages. Numbers count as eight bytes.
func tables(ctx context.Context, db *sql.DB, path string) ([]part, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	parts, err := sqlite.All(ctx, db, func(p *part) []any { return []any{&p.name} }, `SELECT name FROM sqlite_schema WHERE type = 'table'`)
	rest := info.Size()
	for i := range parts {
		p := &parts[i]
		var columns string
		if err == nil {
			err = db.QueryRowContext(ctx, `SELECT group_concat('CASE WHEN typeof("' || name || '") IN (''text'', ''blob'') THEN octet_length("' || name || '") ELSE 8 END', '+')
				FROM pragma_table_info(?)`, p.name).Scan(&columns)
		}
		if err == nil {
			err = db.QueryRowContext(ctx, fmt.Sprintf(`SELECT coalesce(sum(%s), 0) FROM "%s"`, columns, p.name)).Scan(&p.bytes)
		}
		rest -= p.bytes
	}
	slices.SortStableFunc(parts, func(a, b part) int { return int(b.bytes - a.bytes) })
	return append(parts, part{"indexes and structure", rest}), err
}
