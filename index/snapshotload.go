package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"jianguo/index/bands"
	"jianguo/index/lookup"
	"jianguo/index/resident"
)

// pageLoader reads a snapshot's pages, on all cores.
type pageLoader struct {
	db          *sql.DB
	postings    *bands.Loader
	ids, exacts *lookup.Loader
	rows        *resident.Rows
	progress    func(stage string, done, total int64)
	total       int64

	mu             sync.Mutex
	done, manifest int64 // guarded by mu
}

// pagesAtOnce is how many pages one query reads.
const pagesAtOnce = 32

// loadPages makes what the pages hold resident.
func (x *Index) loadPages(ctx context.Context, db *sql.DB, m *marks) error {
	l := &pageLoader{db: db, postings: bands.NewLoader(bands.Config{}), ids: lookup.NewLoader(),
		exacts: lookup.NewLoader(), rows: new(resident.Rows), progress: x.cfg.Progress}
	l.rows.Grow(uint32(m.highOrdinal))
	if err := l.load(ctx, m.manifest); err != nil {
		l.postings.Close()
		l.ids.Close()
		l.exacts.Close()
		return err
	}
	x.snapshotSum = m.sum
	x.rows, x.bands, x.ids, x.exacts = l.rows, l.postings.Bands(), l.ids.Map(), l.exacts.Map()
	return nil
}

// load reads the fingerprints first, so that the other bands are derived from
// them while the rest is read.
func (l *pageLoader) load(ctx context.Context, manifest int64) error {
	var first, rest []func(context.Context) error
	var part []int64
	cut := func() {
		if len(part) == 0 {
			return
		}
		from, to := part[0], part[len(part)-1]
		read := func(ctx context.Context) error { return l.read(ctx, from, to) }
		if ofFingerprints(from) {
			first = append(first, read)
		} else {
			rest = append(rest, read)
		}
		part = part[:0]
	}
	err := each(ctx, l.db, `SELECT id FROM pages ORDER BY id`, func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		if len(part) == pagesAtOnce || len(part) > 0 && ofFingerprints(id) != ofFingerprints(part[0]) {
			cut()
		}
		part = append(part, id)
		l.total++
		return err
	})
	if err != nil {
		return err
	}
	cut()
	if err := inParallel(ctx, first); err != nil {
		return err
	}
	var work []func(context.Context) error
	for _, derive := range l.postings.Derive() {
		work = append(work, func(context.Context) error { derive(); return nil })
	}
	if err := inParallel(ctx, append(work, rest...)); err != nil {
		return err
	}
	if l.manifest != manifest {
		return errors.New("pages are missing, or are not those that were written")
	}
	return nil
}

func ofFingerprints(id int64) bool {
	return id>>32 == pagePostings && bands.Family(uint32(id)>>16) == bands.Fingerprints
}

// inParallel does work on all cores, beginning it in order.
func inParallel(ctx context.Context, work []func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, w := range work {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return w(ctx)
		})
	}
	return g.Wait()
}

// read reads the pages of a range of ids.
func (l *pageLoader) read(ctx context.Context, from, to int64) error {
	var done, manifest int64
	err := each(ctx, l.db, `SELECT id, hash, data FROM pages WHERE id BETWEEN ? AND ? ORDER BY id`, func(r *sql.Rows) error {
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
	number := uint32(id)
	switch id >> 32 {
	case pagePostings:
		return l.postings.Page(bands.PageID{Family: bands.Family(number >> 16), First: uint16(number)}, data)
	case pageIDs:
		return l.ids.Page(lookup.PageID(number), data)
	case pageExacts:
		return l.exacts.Page(lookup.PageID(number), data)
	case pageColumns:
		return l.rows.Load(number, data)
	}
	return nil
}
