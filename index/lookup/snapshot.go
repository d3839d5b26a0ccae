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

// MarkChanged makes the next Snapshot write every page.
func (m *Map) MarkChanged() { m.table.MarkAllDirty() }

// LoadPage adds the pairs of one page, each page once, before anything is put.
// Several goroutines may load pages at once. The page does not count as changed. An
// error wraps ErrPage, and leaves the Map as it was.
func (m *Map) LoadPage(id PageID, page []byte) error {
	if err := m.table.LoadPage(page, tag, uint16(id)); err != nil {
		return fmt.Errorf("lookup: page %d: %w", id, err)
	}
	return nil
}
