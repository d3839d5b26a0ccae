package resident

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"jianguo/index/sqlite"
)

// Source is what a snapshot is written of.
type Source struct {
	Tables    Tables
	Catalogue int64 // identity of the catalogue
	// Writers serialises changes of the tables. It is held while pages are made, so
	// that no page holds a part of a batch that may still fail, and released while they
	// are written.
	Writers sync.Locker
	// Last is the end of the catalogue. It is called with Writers held.
	Last func() Mark
}

// Write writes the pages that have changed since the last time, while readers and
// writers go on. It returns up to where the snapshot holds the catalogue, and how
// many pages were written.
func (s *Snapshot) Write(ctx context.Context, from Source) (Mark, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, pages, err := s.write(ctx, from)
	if sqlite.Unusable(err) {
		s.log.WarnContext(ctx, "the snapshot's file is damaged: writing another", "error", err)
		if err = s.discard(); err == nil {
			m, pages, err = s.write(ctx, from)
		}
	}
	if err != nil {
		return Mark{}, 0, fmt.Errorf("snapshot: %w", err)
	}
	return m, pages, nil
}

func (s *Snapshot) write(ctx context.Context, from Source) (Mark, int, error) {
	db, manifest, err := s.resume(ctx, &from)
	if err != nil {
		return Mark{}, 0, err
	}
	from.Writers.Lock()
	w := &pageWriter{Source: from, ctx: ctx, snapshot: s, db: db, marks: marks{format: snapshotFormat, catalogue: from.Catalogue, manifest: manifest, low: from.Last()}}
	err = w.all()
	from.Writers.Unlock()
	if err == nil {
		err = w.flush(true)
	}
	if err != nil {
		from.Tables.markChanged() // what was written is whole, under the older marks
	}
	return w.marks.low, w.pages, errors.Join(err, db.Close())
}

// resume opens the file that this process has read or written, to write the changes
// into it, and returns its manifest; any other file, or one of other forms, is replaced by an
// empty one.
func (s *Snapshot) resume(ctx context.Context, from *Source) (db *sql.DB, manifest int64, err error) {
	if db, err = s.open(ctx); err != nil {
		return nil, 0, err
	}
	m, err := readMarks(ctx, db)
	if err != nil {
		return nil, 0, errors.Join(err, db.Close())
	}
	if m.sum == s.sum && m.sum != 0 && m.catalogue == from.Catalogue {
		return db, m.manifest, nil
	}
	if err := errors.Join(db.Close(), s.discard()); err != nil {
		return nil, 0, err
	}
	from.Tables.markChanged()
	db, err = s.open(ctx)
	return db, 0, err
}

// pageWriter writes pages in transactions of bounded size.
type pageWriter struct {
	Source
	ctx      context.Context
	snapshot *Snapshot
	db       *sql.DB
	marks    marks
	pending  []pendingPage
	bytes    int // of pending
	pages    int
}

type pendingPage struct {
	id   int64
	data []byte
}

// pendingBytes is how much a transaction writes.
const pendingBytes = 4 << 20

// all emits every page that has changed. Writers is held when it is called and when
// it returns.
func (w *pageWriter) all() error {
	for kind, p := range w.Tables.parts() {
		if err := p.Snapshot(func(number int, page []byte) error { return w.emit(pageID(kind, number), page) }); err != nil {
			return err
		}
	}
	return nil
}

// emit copies a page. Once there are enough, it writes them without the lock.
func (w *pageWriter) emit(id int64, page []byte) error {
	w.pending = append(w.pending, pendingPage{id, slices.Clone(page)})
	w.bytes += len(page)
	w.pages++
	if w.bytes < pendingBytes {
		return nil
	}
	w.marks.high = w.Last()
	w.Writers.Unlock()
	defer w.Writers.Lock()
	return w.flush(false)
}

// flush writes what is pending with the high mark, so that a start can see that the
// catalogue has lost rows which pages hold. The last flush writes the low mark too.
func (w *pageWriter) flush(last bool) error {
	tx, err := w.db.BeginTx(w.ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to do after a commit
	marks := w.marks
	for _, p := range w.pending {
		replaced, err := writePage(w.ctx, tx, p)
		if err != nil {
			return fmt.Errorf("page %x: %w", p.id, err)
		}
		marks.manifest ^= replaced
	}
	w.marks.manifest = marks.manifest
	if last {
		marks.high = Mark{max(marks.high.Ordinal, marks.low.Ordinal), max(marks.high.Event, marks.low.Event)}
	} else {
		before, err := readMarks(w.ctx, w.db)
		if err != nil {
			return err
		}
		marks.low = before.low
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
	w.snapshot.sum = marks.sum
	return nil
}

// writePage writes a page and returns by what the manifest changes.
func writePage(ctx context.Context, tx *sql.Tx, p pendingPage) (manifest int64, err error) {
	var before int64
	err = tx.QueryRowContext(ctx, `SELECT hash FROM pages WHERE id = ?`, p.id).Scan(&before)
	switch {
	case err == nil:
		manifest = entry(p.id, before)
	case !errors.Is(err, sql.ErrNoRows):
		return 0, err
	}
	hash := int64(xxh3.Hash(p.data))
	_, err = tx.ExecContext(ctx, `INSERT INTO pages (id, hash, data) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, data = excluded.data`, p.id, hash, p.data)
	return manifest ^ entry(p.id, hash), err
}
