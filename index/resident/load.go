package resident

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Load reads the snapshot of a catalogue that ends at last, and returns up to where
// it holds the catalogue. progress is called with the stage `snapshot`. Where there is
// no snapshot that can be used, Load removes the file, and the error is ErrSnapshot
// or wraps it.
func (s *Snapshot) Load(
	ctx context.Context, catalogue int64, last Mark, progress func(stage string, done, total int64),
) (Tables, Mark, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stat(s.path); err != nil {
		return Tables{}, Mark{}, cmp.Or(s.discard(), ErrSnapshot)
	}
	var t Tables
	var m *marks
	err := must.Catch(func() { t, m = s.load(ctx, catalogue, last, progress) })
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

// What follows, package must ends.

func (s *Snapshot) load(
	ctx context.Context, catalogue int64, last Mark, progress func(stage string, done, total int64),
) (Tables, *marks) {
	db := must.Get(sqlite.Open(s.path, sqlite.Reads, "NORMAL"))
	defer db.Close()
	m := readMarks(ctx, db)
	switch {
	case m.sum != m.check():
		must.Do(errors.New("its marks are damaged"))
	case m.format != snapshotFormat || m.low.Event == 0:
		must.Do(fmt.Errorf("format %d, event %d", m.format, m.low.Event))
	case m.catalogue != catalogue:
		must.Do(errors.New("it is of another catalogue, or of another recipe"))
	case m.high.Ordinal > last.Ordinal || m.high.Event > last.Event:
		must.Do(errors.New("it is newer than the catalogue, whose end was lost"))
	}
	l := &pageLoader{Tables: NewTables(), db: db, progress: progress}
	l.Rows.grow(uint32(m.high.Ordinal))
	l.all(ctx, m.manifest)
	return l.Tables, m
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
func (l *pageLoader) all(ctx context.Context, manifest int64) {
	ids := must.Get(sqlite.Column[int64](ctx, l.db, `SELECT id FROM pages ORDER BY id`))
	l.total = int64(len(ids))
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for pages := range slices.Chunk(ids, pagesAtOnce) {
		if reading.Err() != nil {
			break
		}
		g.Go(func() error { return must.Catch(func() { l.read(reading, pages[0], pages[len(pages)-1]) }) })
	}
	must.Do(cmp.Or(g.Wait(), ctx.Err()))
	if l.manifest != manifest {
		must.Do(errors.New("pages are missing, or are not those that were written"))
	}
}

// read reads the pages of a range of ids.
func (l *pageLoader) read(ctx context.Context, from, to int64) {
	var done, manifest int64
	query := `SELECT id, hash, data FROM pages WHERE id BETWEEN ? AND ? ORDER BY id`
	for r := range sqlite.Rows(ctx, l.db, query, from, to) {
		var id, hash int64
		var data sql.RawBytes
		must.Do(r.Scan(&id, &hash, &data))
		done++
		manifest ^= entry(id, hash)
		if int64(xxh3.Hash(data)) != hash {
			must.Do(fmt.Errorf("page %x is damaged", id))
		}
		must.Dof(l.page(id, data), "page %x", id)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done += done
	l.manifest ^= manifest
	l.progress("snapshot", l.done, l.total)
}

func (l *pageLoader) page(id int64, data []byte) error {
	parts := l.parts()
	if kind := id >> 32; kind >= 0 && kind < int64(len(parts)) {
		return parts[kind].LoadPage(int(uint32(id)), data)
	}
	return errors.New("no such table")
}
