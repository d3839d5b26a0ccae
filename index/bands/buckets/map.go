package buckets

import (
	"slices"
	"sync"
)

// Map maps 64-bit hashes to ordinals: of an id to its versions, of a normal form to the
// texts that have it.
//
// Hashes collide and ids have versions, so a key may have several values; the caller checks
// each against the catalogue. Keys must be well spread (a hash such as xxh3). They are known
// by their upper 48 bits: among a hundred million ids one look-up in three million meets
// another id. 9.8 bytes an entry at 10 million.
//
// Put is serialised by a lock; Get may run concurrently with it, and never waits for it.
type Map struct {
	mu    sync.Mutex // serialises Put
	table *Table
}

// NewMap returns an empty Map.
func NewMap() *Map { return &Map{table: New(true)} }

// Stored is the table, for a snapshot. Pages are loaded before anything is put.
func (m *Map) Stored() *Table { return m.table }

// Put adds value under key, beside those already there. Putting the pair
// again adds nothing. It panics beyond MaxOrdinal.
func (m *Map) Put(key uint64, value uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for v := range m.table.Find(key) {
		if v == value {
			return
		}
	}
	m.table.Append(key, value)
}

// Get appends to dst the values under key, each once, highest first.
func (m *Map) Get(dst []uint32, key uint64) []uint32 {
	n := len(dst)
	for v := range m.table.Find(key) {
		dst = append(dst, v)
	}
	if found := dst[n:]; len(found) > 1 {
		slices.Sort(found)
		slices.Reverse(found)
		dst = dst[:n+len(slices.Compact(found))]
	}
	return dst
}

// Bytes is the resident memory.
func (m *Map) Bytes() int64 { return m.table.Bytes() }
