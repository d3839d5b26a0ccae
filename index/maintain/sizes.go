package maintain

import (
	"cmp"
	"context"
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

// Sizes returns the bytes on disk: of the values in each table of the catalogue, the largest first, of what its file
// has in addition (indexes, structure, free pages), and of the snapshot. Numbers count as eight bytes. Nothing may
// write meanwhile.
func Sizes(ctx context.Context, dir string) (sizes []Size, err error) {
	path := filepath.Join(dir, index.FileName)
	db, err := sqlite.Open(path, sqlite.Writes, "FULL")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		return nil, fmt.Errorf("sizes: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	const query = `SELECT name, (SELECT group_concat('CASE WHEN typeof("' || name || '") IN (''text'', ''blob'')
		THEN octet_length("' || name || '") ELSE 8 END', '+') FROM pragma_table_info(t.name))
		FROM sqlite_schema t WHERE type = 'table'`
	tables, err := sqlite.All(ctx, db, func(t *[2]string) []any { return []any{&t[0], &t[1]} }, query)
	rest := Size{index.FileName, "indexes and structure", info.Size()}
	for _, t := range tables {
		s := Size{File: index.FileName, Part: t[0]}
		if err == nil {
			query := fmt.Sprintf(`SELECT coalesce(sum(%s), 0) FROM "%s"`, t[1], t[0])
			err = db.QueryRowContext(ctx, query).Scan(&s.Bytes)
		}
		rest.Bytes -= s.Bytes
		sizes = append(sizes, s)
	}
	if err != nil {
		return nil, fmt.Errorf("sizes: %w", err)
	}
	slices.SortStableFunc(sizes, func(a, b Size) int { return cmp.Compare(b.Bytes, a.Bytes) })
	sizes = append(sizes, rest)
	if info, err := os.Stat(filepath.Join(dir, index.SnapshotFileName)); err == nil {
		sizes = append(sizes, Size{index.SnapshotFileName, "pages", info.Size()})
	}
	return sizes, nil
}
