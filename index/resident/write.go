package resident

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/zeebo/xxh3"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
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
	return m, pages, wrap.Err(err, "snapshot")
}

func (s *Snapshot) write(ctx context.Context, from Source) (Mark, int, error) {
	db, manifest, err := s.resume(ctx, &from)
	if err != nil {
		return Mark{}, 0, err
	}
	w := &pageWriter{Source: from, ctx: ctx}
	w.marks = marks{format: snapshotFormat, catalogue: from.Catalogue, manifest: manifest}
	if err = must.Catch(func() { w.write(db) }); err != nil {
		from.Tables.markChanged()
	} else {
		s.sum = w.marks.sum
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
	m, err := must.Try(func() *marks { return readMarks(ctx, db) })
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

// pageWriter writes pages and marks in one transaction. Package must ends its methods, but for emit.
type pageWriter struct {
	Source
	ctx   context.Context
	tx    *sql.Tx
	marks marks
	pages int
}

func (w *pageWriter) write(db *sql.DB) {
	w.tx = must.Get(db.BeginTx(w.ctx, nil))
	defer func() { _ = w.tx.Rollback() }() // nothing to do after a commit
	w.all()
	w.marks.sum = w.marks.check()
	for key, value := range w.marks.fields() {
		_, err := w.tx.ExecContext(w.ctx, `INSERT OR REPLACE INTO marks (key, value) VALUES (?, ?)`, key, *value)
		must.Dof(err, "mark %s", key)
	}
	must.Do(w.tx.Commit())
}

// all writes every page that has changed.
func (w *pageWriter) all() {
	w.Writers.Lock()
	defer w.Writers.Unlock()
	w.marks.low = w.Last()
	for kind, p := range w.Tables.parts() {
		must.Do(p.Snapshot(func(number int, page []byte) error { return w.emit(int64(kind)<<32|int64(number), page) }))
	}
	w.marks.high = w.Last()
}

// emit writes a page, and lets writers go on meanwhile.
func (w *pageWriter) emit(id int64, page []byte) error {
	w.Writers.Unlock()
	defer w.Writers.Lock()
	var before int64
	err := w.tx.QueryRowContext(w.ctx, `SELECT hash FROM pages WHERE id = ?`, id).Scan(&before)
	switch {
	case err == nil:
		w.marks.manifest ^= entry(id, before)
	case !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("page %x: %w", id, err)
	}
	hash := int64(xxh3.Hash(page))
	w.marks.manifest ^= entry(id, hash)
	w.pages++
	_, err = w.tx.ExecContext(w.ctx, `INSERT OR REPLACE INTO pages (id, hash, data) VALUES (?, ?, ?)`, id, hash, page)
	return wrap.Err(err, "page %x", id)
}
