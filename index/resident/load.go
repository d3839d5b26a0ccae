package resident

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Load reads the snapshot of a catalogue that ends at last, and returns up to where
// it holds the catalogue. progress is called with the stage `snapshot`. Where there is
// no snapshot that can be used, Load removes the file, the tables are empty, and the error
// is ErrSnapshot or wraps it.
func (s *Snapshot) Load(
	ctx context.Context, catalogue int64, last Mark, progress func(stage string, done, total int64),
) (t Tables, m Mark, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = must.Catch(func() { t, m = s.load(ctx, catalogue, last, progress) })
	if err == nil {
		return t, m, nil
	}
	t, m = NewTables(), Mark{}
	if ctx.Err() != nil {
		return t, m, ctx.Err() // the next start reads the file
	}
	if err := sqlite.Remove(s.path); err != nil { // with the log that SQLite kept beside the file of format 1
		return t, m, fmt.Errorf("snapshot: %w", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return t, m, ErrSnapshot
	}
	return t, m, fmt.Errorf("%w: %w", ErrSnapshot, err)
}

// load reads the file, and decodes its pages on all cores. It panics on errors (must).
func (s *Snapshot) load(
	ctx context.Context, catalogue int64, last Mark, progress func(stage string, done, total int64),
) (Tables, Mark) {
	f := must.Get(os.Open(s.path))
	defer f.Close()
	var foot footer
	size := must.Get(f.Seek(0, io.SeekEnd)) - int64(binary.Size(foot))
	must.Dof(binary.Read(io.NewSectionReader(f, size, int64(binary.Size(foot))), binary.LittleEndian, &foot), "its end")
	switch {
	case foot.Sum != foot.check():
		must.Do(errors.New("its end is damaged, or it is of another format"))
	case foot.Format != snapshotFormat || foot.Low.Event == 0:
		must.Do(fmt.Errorf("format %d, event %d", foot.Format, foot.Low.Event))
	case foot.Catalogue != catalogue:
		must.Do(errors.New("it is of another catalogue, or of another recipe"))
	case foot.High.Ordinal > last.Ordinal || foot.High.Event > last.Event:
		must.Do(errors.New("it is newer than the catalogue, whose end was lost"))
	}
	t := NewTables()
	t.Rows.grow(uint32(foot.High.Ordinal))
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, size), 1<<20)
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for done := int64(0); done < foot.Pages && reading.Err() == nil; done++ {
		progress("snapshot", done, foot.Pages)
		var head frame
		must.Do(binary.Read(r, binary.LittleEndian, &head))
		if head.Size < 0 || head.Size > size {
			must.Do(fmt.Errorf("page %x is damaged", head.ID))
		}
		page := make([]byte, head.Size)
		must.Get(io.ReadFull(r, page))
		g.Go(func() error { return t.loadPage(&head, page) })
	}
	must.Do(cmp.Or(g.Wait(), ctx.Err()))
	if _, err := r.Peek(1); err != io.EOF {
		must.Do(errors.New("it has more pages than were written"))
	}
	return t, foot.Low
}

func (t Tables) loadPage(head *frame, page []byte) error {
	parts := t.parts()
	kind := head.ID >> 32
	if xxh3.HashSeed(page, uint64(head.ID)) != head.Hash || kind < 0 || kind >= int64(len(parts)) {
		return fmt.Errorf("page %x is damaged", head.ID)
	}
	if err := parts[kind].LoadPage(int(uint32(head.ID)), page); err != nil {
		return fmt.Errorf("page %x: %w", head.ID, err)
	}
	return nil
}
