package runs

import (
	"fmt"

	"jianguo/index/bands/buckets"
)

// PageID names a page: its first key's upper 16 bits. A newer page replaces
// the older one of the same id.
type PageID uint16

// ErrPage says that a page is torn, foreign or of another format version: the
// snapshot has to be made anew from the catalogue.
var ErrPage = buckets.ErrPage

// Snapshot calls emit with every page that changed since the last Snapshot
// that succeeded (all of them after New), while Get and Put go on. The bytes
// are emit's only until it returns. A page holds every pair put before the
// call, and may hold some put meanwhile.
func (r *Runs) Snapshot(emit func(id PageID, page []byte) error) error {
	r.snapshot.Lock()
	defer r.snapshot.Unlock()
	numbers := r.table.TakeDirty()
	var page []byte
	for _, n := range numbers {
		id := PageID(n * buckets.PageKeys)
		page = r.table.AppendPage(page[:0], n, tag)
		if err := emit(id, page); err != nil {
			r.table.MarkDirty(numbers)
			return fmt.Errorf("runs: snapshot page %d: %w", id, err)
		}
	}
	return nil
}

// Forget makes the next Snapshot write every page: for a caller whose last one
// was lost after all.
func (r *Runs) Forget() { r.table.MarkAllDirty() }

// Loader builds Runs from pages, from pairs, or from both. Its methods may be
// called by several goroutines at once.
type Loader struct {
	runs    *Runs // what pages made
	batches buckets.Batches
}

// NewLoader returns an empty Loader.
func NewLoader(c Config) *Loader { return &Loader{runs: New(c)} }

// Page adds the pairs of one page: each page once. An error wraps ErrPage, and
// leaves the Loader as it was.
func (l *Loader) Page(id PageID, page []byte) error {
	if err := l.runs.table.LoadPage(page, tag, uint16(id)); err != nil {
		return fmt.Errorf("runs: page %d: %w", id, err)
	}
	return nil
}

// Add adds one pair that no page holds. One that a page does hold is doubled:
// Get does not show it, but it takes its room.
func (l *Loader) Add(key uint64, value uint32) {
	if value > MaxValue {
		panic(fmt.Sprintf("runs: value %d is beyond MaxValue", value))
	}
	l.batches.With(func(b *buckets.Batch) { b.Append(key, value) })
}

// Close gives back the memory of a Loader that nothing was made of.
func (l *Loader) Close() {
	l.runs.Close()
	l.batches.Release()
}

// Runs returns what was loaded. The Loader is used up.
func (l *Loader) Runs() *Runs {
	r := l.runs
	if r.Len() > 0 {
		l.batches.AppendTo(r.table)
	} else {
		r.table = l.batches.Build(r.config(), 0)
	}
	l.batches.Release()
	return r
}
