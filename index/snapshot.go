package index

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/index/bands"
	"jianguo/index/lookup"
	"jianguo/index/sqlite"
)

// SnapshotFileName is the file inside the data directory that holds what is
// resident, so that a start need not derive it from every row. It can be
// removed: the next start then takes longer, and makes it again.
const SnapshotFileName = "snapshot.db"

// snapshotFormat is the version of the file as a whole; the pages have
// versions of their own. Another version is discarded.
//
// Version 2: table pages (id = kind << 32 | number, data), table marks. Kinds:
// 1 postings (number: family << 16 | first key, see package bands), 2 id
// look-up and 3 exact look-up (number: upper 16 bits of the key, see package
// runs), 4 columns (number: ordinal / 65536; see columnpage.go). A row carries the
// xxh3 of its data; the mark manifest is the exclusive or, over all rows, of the
// xxh3 of id and hash, and the mark sum is the xxh3 of the other marks: a row
// that is damaged, missing or too many is noticed, whatever SQLite makes of the
// file.
//
// Version 1 had postings of format 1, and columns as four arrays of numbers.
const snapshotFormat = 2

const snapshotSchema = `
CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS marks (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;`

const (
	pagePostings = 1
	pageIDs      = 2
	pageExacts   = 3
	pageColumns  = 4
)

func pageID(kind, number uint32) int64 { return int64(kind)<<32 | int64(number) }

// marks are what a snapshot says of itself. Pages hold everything up to
// Ordinal and Event, and may hold more, up to HighOrdinal and HighEvent.
type marks struct {
	format, catalogue      int64
	ordinal, event         int64
	highOrdinal, highEvent int64
	manifest, sum          int64
}

// check is the sum that the marks should carry.
func (m *marks) check() int64 {
	var b []byte
	for _, v := range []int64{m.format, m.catalogue, m.ordinal, m.event, m.highOrdinal, m.highEvent, m.manifest} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return int64(xxh3.Hash(b))
}

// entry is what a row adds to the manifest.
func entry(id, hash int64) int64 {
	b := binary.LittleEndian.AppendUint64(nil, uint64(id))
	return int64(xxh3.Hash(binary.LittleEndian.AppendUint64(b, uint64(hash))))
}

func (m *marks) fields() map[string]*int64 {
	return map[string]*int64{"format": &m.format, "catalogue": &m.catalogue, "ordinal": &m.ordinal, "event": &m.event,
		"high_ordinal": &m.highOrdinal, "high_event": &m.highEvent, "manifest": &m.manifest, "sum": &m.sum}
}

// errSnapshot says that a snapshot is missing, torn, or not of this catalogue.
var errSnapshot = errors.New("no usable snapshot")

// identity is a random number that ties a snapshot to its catalogue.
func (x *Index) identity(ctx context.Context) (int64, error) {
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

func (x *Index) openSnapshot(ctx context.Context) (*sql.DB, error) {
	db, err := sqlite.Open(filepath.Join(x.cfg.Dir, SnapshotFileName), sqlite.Writes, "NORMAL")
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, snapshotSchema); err != nil {
		return nil, errors.Join(fmt.Errorf("snapshot: %w", err), db.Close())
	}
	return db, nil
}

// discardSnapshot removes the file; a snapshot is only ever a saving.
func (x *Index) discardSnapshot() error {
	x.snapshotSum = 0
	return sqlite.Remove(filepath.Join(x.cfg.Dir, SnapshotFileName))
}

// loadSnapshot makes resident what the snapshot holds and returns its marks.
// The error wraps errSnapshot where there is none that can be used; nothing
// has been changed then.
func (x *Index) loadSnapshot(ctx context.Context, catalogue int64) (*marks, error) {
	if _, err := os.Stat(filepath.Join(x.cfg.Dir, SnapshotFileName)); err != nil {
		return nil, errSnapshot
	}
	db, err := sqlite.Open(filepath.Join(x.cfg.Dir, SnapshotFileName), sqlite.Scans, "NORMAL")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshot, err)
	}
	defer db.Close()
	m, err := readMarks(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshot, err)
	}
	switch {
	case m.sum != m.check():
		return nil, fmt.Errorf("%w: its marks are damaged", errSnapshot)
	case m.format != snapshotFormat || m.event == 0:
		return nil, fmt.Errorf("%w: format %d, event %d", errSnapshot, m.format, m.event)
	case m.catalogue != catalogue:
		return nil, fmt.Errorf("%w: it is of another catalogue, or of another recipe", errSnapshot)
	case m.highOrdinal >= int64(x.nextOrdinal) || m.highEvent >= int64(x.nextEvent):
		return nil, fmt.Errorf("%w: it is newer than the catalogue, whose end was lost", errSnapshot)
	}
	if err := x.loadPages(ctx, db, m); err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshot, err)
	}
	return m, nil
}

func readMarks(ctx context.Context, db *sql.DB) (*marks, error) {
	m := new(marks)
	fields := m.fields()
	return m, each(ctx, db, `SELECT key, value FROM marks`, func(r *sql.Rows) error {
		var key string
		var value int64
		err := r.Scan(&key, &value)
		if f := fields[key]; f != nil {
			*f = value
		}
		return err
	})
}

// Snapshot writes what is resident beside the catalogue, while everything else
// goes on: only the pages that have changed since the last time.
func (x *Index) Snapshot(ctx context.Context) error {
	x.snapshots.Lock()
	defer x.snapshots.Unlock()
	err := x.writeSnapshot(ctx)
	if sqlite.Unusable(err) {
		x.log.WarnContext(ctx, "the snapshot's file is damaged: writing another", "error", err)
		err = x.discardSnapshot()
		if err == nil {
			err = x.writeSnapshot(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("index: snapshot: %w", err)
	}
	return nil
}

func (x *Index) writeSnapshot(ctx context.Context) (err error) {
	start := time.Now()
	db, before, err := x.continueSnapshot(ctx)
	if err != nil {
		return err
	}
	// Pages are made under the writers' lock, so that none holds a part of a
	// batch that may yet fail; emit lets go of it while it writes.
	x.write.Lock()
	w := &pageWriter{x: x, ctx: ctx, db: db, marks: marks{format: snapshotFormat, catalogue: x.catalogue, manifest: before.manifest, ordinal: int64(x.nextOrdinal) - 1, event: int64(x.nextEvent) - 1}}
	err = w.all()
	x.write.Unlock()
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		// What was written is whole, and older marks hold of it.
		x.forget()
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	x.snapshotEvent.Store(w.marks.event)
	x.metrics.snapshot.Set(time.Since(start).Seconds())
	x.log.InfoContext(ctx, "snapshot written", "items", w.marks.ordinal, "pages", w.pages, "seconds", time.Since(start).Seconds())
	return nil
}

// continueSnapshot opens the file that this process has read or written, to
// write into it what has changed; any other is replaced by an empty one.
func (x *Index) continueSnapshot(ctx context.Context) (*sql.DB, *marks, error) {
	db, err := x.openSnapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	m, err := readMarks(ctx, db)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	if m.sum == x.snapshotSum && m.sum != 0 {
		return db, m, nil
	}
	if err := errors.Join(db.Close(), x.discardSnapshot()); err != nil {
		return nil, nil, err
	}
	x.forget()
	db, err = x.openSnapshot(ctx)
	return db, new(marks), err
}

// forget makes everything that is resident wanting in the snapshot.
func (x *Index) forget() {
	x.bands.Forget()
	x.ids.Forget()
	x.exacts.Forget()
	x.rows.MarkChanged()
}

// pageWriter writes pages in transactions of bounded size.
type pageWriter struct {
	x       *Index
	ctx     context.Context
	db      *sql.DB
	marks   marks
	pending []pendingPage
	bytes   int
	pages   int
}

type pendingPage struct {
	id   int64
	data []byte
}

// all emits every page; Index.write is held when it is called and when it
// returns.
func (w *pageWriter) all() error {
	x := w.x
	// Columns come first: what they call posted may not be swept before the
	// postings are written (the sweep waits), and what is posted again meanwhile
	// is told from the events.
	err := x.rows.TakePages(func(n uint32, page []byte) error { return w.emit(pageID(pageColumns, n), page) })
	if err != nil {
		return err
	}
	err = x.bands.Snapshot(func(id bands.PageID, page []byte) error {
		return w.emit(pageID(pagePostings, uint32(id.Family)<<16|uint32(id.First)), page)
	})
	if err != nil {
		return err
	}
	for kind, r := range map[uint32]*lookup.Map{pageIDs: x.ids, pageExacts: x.exacts} {
		if err := r.Snapshot(func(id lookup.PageID, page []byte) error { return w.emit(pageID(kind, uint32(id)), page) }); err != nil {
			return err
		}
	}
	return nil
}

// emit copies a page and writes it, with others, without the lock.
func (w *pageWriter) emit(id int64, page []byte) error {
	w.pending = append(w.pending, pendingPage{id, append([]byte(nil), page...)})
	w.bytes += len(page)
	w.pages++
	if w.bytes < 4<<20 {
		return nil
	}
	w.marks.highOrdinal, w.marks.highEvent = int64(w.x.nextOrdinal)-1, int64(w.x.nextEvent)-1
	w.x.write.Unlock()
	defer w.x.write.Lock()
	return w.flush(false)
}

func (w *pageWriter) finish() error {
	w.marks.highOrdinal, w.marks.highEvent = max(w.marks.highOrdinal, w.marks.ordinal), max(w.marks.highEvent, w.marks.event)
	return w.flush(true)
}

// flush writes what is pending with the high marks, so that pages which a
// catalogue has lost the rows of can be told; last, the low ones too.
func (w *pageWriter) flush(last bool) error {
	tx, err := w.db.BeginTx(w.ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to do after a commit
	stmt, err := tx.PrepareContext(w.ctx, `INSERT INTO pages (id, hash, data) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, data = excluded.data`)
	if err != nil {
		return err
	}
	defer stmt.Close()
	marks := w.marks
	for _, p := range w.pending {
		hash := int64(xxh3.Hash(p.data))
		var before int64
		err := tx.QueryRowContext(w.ctx, `SELECT hash FROM pages WHERE id = ?`, p.id).Scan(&before)
		switch {
		case err == nil:
			marks.manifest ^= entry(p.id, before)
		case !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("page %x: %w", p.id, err)
		}
		marks.manifest ^= entry(p.id, hash)
		if _, err := stmt.ExecContext(w.ctx, p.id, hash, p.data); err != nil {
			return fmt.Errorf("page %x: %w", p.id, err)
		}
	}
	w.marks.manifest = marks.manifest
	if !last {
		// The low marks stay those of the snapshot that is being replaced.
		before, err := readMarks(w.ctx, w.db)
		if err != nil {
			return err
		}
		marks.ordinal, marks.event = before.ordinal, before.event
	}
	marks.sum = marks.check()
	for key, value := range marks.fields() {
		if _, err := tx.ExecContext(w.ctx, `INSERT INTO marks (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, *value); err != nil {
			return fmt.Errorf("mark %s: %w", key, err)
		}
	}
	w.pending, w.bytes = nil, 0
	if err := tx.Commit(); err != nil {
		return err
	}
	w.x.snapshotSum = marks.sum
	return nil
}

// Config.SnapshotEvery's default, and the share of the index that has to have
// changed: an eighth, so that over the years a snapshot costs about eight times
// what was added, and a start after a crash replays no more than an eighth.
const (
	defaultSnapshotEvery = 200_000
	snapshotShare        = 8
)

// snapshotDue says whether enough has changed for the next snapshot.
func (x *Index) snapshotDue(event int64) bool {
	return event-x.snapshotEvent.Load() >= max(x.cfg.SnapshotEvery, event/snapshotShare)
}

// snapshotWorth says whether one is worth the wait at an orderly end: what it
// saves the next start is more than what writing it takes.
func (x *Index) snapshotWorth(event int64) bool {
	return event-x.snapshotEvent.Load() >= max(x.cfg.SnapshotEvery/10, event/500)
}

// snapshotWhenDue starts a snapshot in the background after a batch. Guarded
// by Index.write.
func (x *Index) snapshotWhenDue(ctx context.Context) {
	event := int64(x.nextEvent) - 1
	if !x.snapshotDue(event) || !x.snapshotting.CompareAndSwap(false, true) {
		return
	}
	x.background.Go(func() {
		defer x.snapshotting.Store(false)
		if err := x.Snapshot(context.WithoutCancel(ctx)); err != nil {
			// The catalogue has everything: only the next start takes longer.
			x.log.ErrorContext(ctx, "snapshot", "error", err)
			x.snapshotEvent.Store(event)
		}
	})
}
