package resident

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"jianguo/internal/sqlite"
)

// Load reads the snapshot of a catalogue that ends at last, and returns up to where
// it holds the catalogue. progress is called with the stage `snapshot`. Where there is
// no snapshot that can be used, Load removes the file, and the error is ErrSnapshot
// or wraps it.
func (s *Snapshot) Load(ctx context.Context, catalogue int64, last Mark, progress func(stage string, done, total int64)) (Tables, Mark, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stat(s.path); err != nil {
		return Tables{}, Mark{}, cmp.Or(s.discard(), ErrSnapshot)
	}
	t, m, err := s.load(ctx, catalogue, last, progress)
	switch {
	case ctx.Err() != nil:
		return Tables{}, Mark{}, ctx.Err() // the next start reads the file
	case err != nil:
		if err := s.discard(); err != nil {
			return Tables{}, Mark{}, fmt.Errorf("snapshot: %w", err)
		}
		return Tables{}, Mark{}, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	s.sum = m.sum
	return t, m.low, nil
}

func (s *Snapshot) load(ctx context.Context, catalogue int64, last Mark, progress func(stage string, done, total int64)) (t Tables, m *marks, err error) {
	db, err := sqlite.Open(s.path, sqlite.Reads, "NORMAL")
	if err != nil {
		return t, nil, err
	}
	defer db.Close()
	m, err = readMarks(ctx, db)
	switch {
	case err != nil:
		return t, nil, err
	case m.sum != m.check():
		return t, nil, errors.New("its marks are damaged")
	case m.format != snapshotFormat || m.low.Event == 0:
		return t, nil, fmt.Errorf("format %d, event %d", m.format, m.low.Event)
	case m.catalogue != catalogue:
		return t, nil, errors.New("it is of another catalogue, or of another recipe")
	case m.high.Ordinal > last.Ordinal || m.high.Event > last.Event:
		return t, nil, errors.New("it is newer than the catalogue, whose end was lost")
	}
	t, err = readPages(ctx, db, m, progress)
	return t, m, err
}

func readPages(ctx context.Context, db *sql.DB, m *marks, progress func(stage string, done, total int64)) (Tables, error) {
	l := &pageLoader{Tables: NewTables(), db: db, progress: progress}
	l.Rows.grow(uint32(m.high.Ordinal))
	if err := l.all(ctx, m.manifest); err != nil {
		l.Close()
		return Tables{}, err
	}
	l.Bands.Derive()
	return l.Tables, nil
}

// pageLoader reads a snapshot's pages, on all cores.
type pageLoader struct {
	Tables
	db       *sql.DB
	progress func(stage string, done, total int64)
	total    int64

	mu             sync.Mutex
	done, manifest int64 // guarded by mu
}

// pagesAtOnce is how many pages one query reads.
const pagesAtOnce = 32

// all reads every page.
func (l *pageLoader) all(ctx context.Context, manifest int64) error {
	ids, err := sqlite.Column[int64](ctx, l.db, `SELECT id FROM pages ORDER BY id`)
	if err != nil {
		return err
	}
	l.total = int64(len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for len(ids) > 0 && ctx.Err() == nil {
		n := min(len(ids), pagesAtOnce)
		from, to := ids[0], ids[n-1]
		ids = ids[n:]
		g.Go(func() error { return l.read(ctx, from, to) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil && len(ids) > 0 {
		return err
	}
	if l.manifest != manifest {
		return errors.New("pages are missing, or are not those that were written")
	}
	return nil
}

// read reads the pages of a range of ids.
func (l *pageLoader) read(ctx context.Context, from, to int64) error {
	var done, manifest int64
	err := sqlite.Each(ctx, l.db, `SELECT id, hash, data FROM pages WHERE id BETWEEN ? AND ? ORDER BY id`, func(r *sql.Rows) error {
		var id, hash int64
		var data sql.RawBytes
		if err := r.Scan(&id, &hash, &data); err != nil {
			return err
		}
		done++
		manifest ^= entry(id, hash)
		if int64(xxh3.Hash(data)) != hash {
			return fmt.Errorf("page %x is damaged", id)
		}
		if err := l.page(id, data); err != nil {
			return fmt.Errorf("page %x: %w", id, err)
		}
		return nil
	}, from, to)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done += done
	l.manifest ^= manifest
	l.progress("snapshot", l.done, l.total)
	return nil
}

func (l *pageLoader) page(id int64, data []byte) error {
	parts := l.parts()
	if kind := id >> 32; kind >= 0 && kind < int64(len(parts)) {
		return parts[kind].LoadPage(int(uint32(id)), data)
	}
	return errors.New("no such table")
}
