package resident

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/zeebo/xxh3"

	"jianguo/internal/sqlite"
)

// SnapshotFileName is the file inside the data directory that holds what is
// resident, so that a start need not derive it from every row. It can be
// removed: the next start then takes longer, and writes it again.
const SnapshotFileName = "snapshot.db"

// snapshotFormat is the version of the file. Another version is discarded.
//
// Table pages (id = part << 32 | number, data), table marks. Tables.parts lists the parts;
// package buckets and page.go describe their pages. A row carries the xxh3 of its data; the mark
// manifest is the exclusive or, over all rows, of the xxh3 of id and hash, and the mark sum is the
// xxh3 of the other marks: a row that is damaged, missing or too many is noticed, whatever SQLite
// makes of the file.
const snapshotFormat = 1

const snapshotSchema = `
CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS marks (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;`

// Mark is a position in the catalogue: the last ordinal and the number of the last
// event up to there.
type Mark struct{ Ordinal, Event int64 }

// marks are what a snapshot says of itself. Pages hold everything up to
// low, and may hold more, up to high.
type marks struct {
	format, catalogue int64
	low, high         Mark
	manifest, sum     int64
}

// check is the sum that the marks should carry.
func (m *marks) check() int64 {
	var b []byte
	for _, v := range []int64{
		m.format, m.catalogue, m.low.Ordinal, m.low.Event, m.high.Ordinal, m.high.Event, m.manifest,
	} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return int64(xxh3.Hash(b))
}

// entry is what a row adds to the manifest.
func entry(id, hash int64) int64 {
	b := binary.LittleEndian.AppendUint64(nil, uint64(id))
	return int64(xxh3.Hash(binary.LittleEndian.AppendUint64(b, uint64(hash))))
}

// fields are the marks by their keys in the file.
func (m *marks) fields() map[string]*int64 {
	return map[string]*int64{"format": &m.format, "catalogue": &m.catalogue,
		"ordinal": &m.low.Ordinal, "event": &m.low.Event,
		"high_ordinal": &m.high.Ordinal, "high_event": &m.high.Event, "manifest": &m.manifest, "sum": &m.sum}
}

// readMarks is ended by package must.
func readMarks(ctx context.Context, db *sql.DB) *marks {
	m := new(marks)
	fields := m.fields()
	for key, value := range sqlite.Pairs[string, int64](ctx, db, `SELECT key, value FROM marks`) {
		if f := fields[key]; f != nil {
			*f = value
		}
	}
	return m
}

// ErrSnapshot says that a snapshot is missing, damaged, or not of this catalogue.
var ErrSnapshot = errors.New("no usable snapshot")

// Snapshot is the file of a data directory that holds Tables. The file holds nothing
// that the catalogue does not.
type Snapshot struct {
	path string
	log  *slog.Logger

	mu  sync.Mutex // held while the file is read or written
	sum int64      // the mark sum of the file as last read or written; 0: none; guarded by mu
}

// NewSnapshot is the snapshot of a data directory.
func NewSnapshot(dir string, log *slog.Logger) *Snapshot {
	return &Snapshot{path: filepath.Join(dir, SnapshotFileName), log: log}
}

// Exclude calls f while no snapshot is being written.
func (s *Snapshot) Exclude(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// discard removes the file. Guarded by mu.
func (s *Snapshot) discard() error {
	s.sum = 0
	return sqlite.Remove(s.path)
}

// open opens the file to write.
func (s *Snapshot) open(ctx context.Context) (*sql.DB, error) {
	db, err := sqlite.Open(s.path, sqlite.Creates, "NORMAL")
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, snapshotSchema); err != nil {
		return nil, errors.Join(fmt.Errorf("snapshot: %w", err), db.Close())
	}
	return db, nil
}
