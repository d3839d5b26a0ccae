package resident

import (
	"bufio"
	"context"
	"errors"
	"os"
	"sync"

	"github.com/zeebo/xxh3"

	"jianguo/internal/must"
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

// Write writes all pages, while readers and writers go on. It returns up to where the snapshot holds the catalogue,
// and how many pages were written.
func (s *Snapshot) Write(ctx context.Context, from Source) (Mark, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	foot, err := must.Try(func() footer { return s.write(ctx, from) })
	return foot.Low, foot.Pages, wrap.Err(err, "snapshot")
}

// write replaces the file once another is whole. It panics on errors (must).
func (s *Snapshot) write(ctx context.Context, from Source) footer {
	next := s.path + ".new"
	_ = os.Remove(next) // of a process that was killed
	f := must.Get(os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600))
	defer func() { _ = errors.Join(f.Close(), os.Remove(next)) }() // nothing is left to do after the rename
	w := bufio.NewWriterSize(f, 1<<20)
	foot := from.pages(ctx, w)
	must.Get(w.Write(encode(foot)))
	must.Do(errors.Join(w.Flush(), f.Sync(), os.Rename(next, s.path)))
	return foot
}

// pages writes every page, and lets writers go on meanwhile. It panics on errors (must).
func (from *Source) pages(ctx context.Context, w *bufio.Writer) footer {
	foot := footer{Format: snapshotFormat, Catalogue: from.Catalogue}
	from.Writers.Lock()
	defer from.Writers.Unlock()
	foot.Low = from.Last()
	for kind, p := range from.Tables.parts() {
		must.Do(p.Snapshot(func(number int, page []byte) error {
			from.Writers.Unlock()
			defer from.Writers.Lock()
			foot.Pages++
			id := int64(kind)<<32 | int64(number)
			_, err := w.Write(encode(frame{id, int64(len(page)), xxh3.HashSeed(page, uint64(id))}))
			if err == nil {
				_, err = w.Write(page)
			}
			return errors.Join(err, ctx.Err())
		}))
	}
	foot.High = from.Last()
	foot.Sum = foot.check()
	return foot
}
