package lookup

import (
	"fmt"

	"jianguo/index/bands/buckets"
)

// PageID names a page: its first key's upper 16 bits. A newer page replaces
// the older one of the same id.
type PageID uint16

// ErrPage says that a page is torn, foreign or of another format version: the
// snapshot has to be rebuilt from the catalogue.
var ErrPage = buckets.ErrPage

// Snapshot calls emit with every page that changed since the last Snapshot
// that succeeded (all of them after New), while Get and Put go on. The bytes
// are valid until emit returns. A page holds every pair put before the
// call, and may hold some put meanwhile.
func (m *Map) Snapshot(emit func(id PageID, page []byte) error) error {
	m.snapshot.Lock()
	defer m.snapshot.Unlock()
	numbers := m.table.TakeDirty()
	var page []byte
	for _, n := range numbers {
		id := PageID(n * buckets.PageKeys)
		page = m.table.AppendPage(page[:0], n, tag)
		if err := emit(id, page); err != nil {
			m.table.MarkDirty(numbers)
			return fmt.Errorf("lookup: snapshot page %d: %w", id, err)
		}
	}
	return nil
}

// Forget makes the next Snapshot write every page: for a caller that lost the
// last one.
func (m *Map) Forget() { m.table.MarkAllDirty() }

// Loader builds a Map from pages, from pairs, or from both. Its methods may be
// called by several goroutines at once.
type Loader struct {
	into    *Map // what pages made
	batches buckets.Batches
}

// NewLoader returns an empty Loader.
func NewLoader() *Loader { return &Loader{into: New()} }

// Page adds the pairs of one page: each page once. An error wraps ErrPage, and
// leaves the Loader as it was.
func (l *Loader) Page(id PageID, page []byte) error {
	if err := l.into.table.LoadPage(page, tag, uint16(id)); err != nil {
		return fmt.Errorf("lookup: page %d: %w", id, err)
	}
	return nil
}

// Add adds one pair that no page holds. A pair that a page does hold is stored
// twice: Get returns it once, but it takes memory twice.
func (l *Loader) Add(key uint64, value uint32) {
	checkValue(value)
	l.batches.With(func(b *buckets.Batch) { b.Append(key, value) })
}

// Close releases the memory of a Loader that no Map was made of.
func (l *Loader) Close() {
	l.into.Close()
	l.batches.Release()
}

// Map returns what was loaded. The Loader must not be used afterwards.
func (l *Loader) Map() *Map {
	m := l.into
	if m.Len() > 0 {
		l.batches.AppendTo(m.table)
	} else {
		m.table = l.batches.Build(m.config(), 0)
	}
	l.batches.Release()
	return m
}
