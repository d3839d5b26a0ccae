// Package runs holds resident look-ups from 64-bit hashes to ordinals.
package runs

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"
)

// MaxValue is the largest value that can be put.
const MaxValue = 1<<32 - 2

// Config configures Runs. The zero value is ready to use.
type Config struct{}

// Runs maps 64-bit hashes to values. Put is serialised by a lock; Get and
// Snapshot may run beside it and each other, and never wait for it.
type Runs struct {
	mu sync.RWMutex
	m  map[uint64][]uint32
	n  int
}

// New returns an empty map.
func New(Config) *Runs { return &Runs{m: map[uint64][]uint32{}} }

// Close releases the memory. No look-up may run beside it or after it.
func (r *Runs) Close() {}

// Put adds value under key, beside those already there. Putting the pair
// again adds nothing.
func (r *Runs) Put(key uint64, value uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.m[key], value) {
		r.m[key] = append(r.m[key], value)
		r.n++
	}
}

// Get appends to dst the values under key, highest first.
func (r *Runs) Get(dst []uint32, key uint64) []uint32 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	n := len(dst)
	dst = append(dst, r.m[key]...)
	slices.Sort(dst[n:])
	slices.Reverse(dst[n:])
	return dst
}

// Len is the number of pairs.
func (r *Runs) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.n
}

// Stats describe the map.
type Stats struct {
	Entries int
	Bytes   int64 // resident
}

// Stats counts over the whole map.
func (r *Runs) Stats() Stats { return Stats{Entries: r.Len()} }

// PageID names a page. A newer page replaces the older one of the same id.
type PageID uint16

// ErrPage says that a page is torn, foreign or of another format version: the
// snapshot has to be made anew from the catalogue.
var ErrPage = errors.New("runs: not a whole page")

// Snapshot calls emit with every page that changed since the last Snapshot
// that succeeded (all of them after New), while Get and Put go on. The bytes
// are emit's only until it returns. A page holds every pair put before the
// call, and may hold some put meanwhile.
func (r *Runs) Snapshot(emit func(id PageID, page []byte) error) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var page []byte
	for k, vs := range r.m {
		for _, v := range vs {
			page = binary.LittleEndian.AppendUint64(page, k)
			page = binary.LittleEndian.AppendUint32(page, v)
		}
	}
	return emit(0, page)
}

// Loader builds Runs from pages, from pairs, or from both. Its methods may be
// called by several goroutines at once.
type Loader struct{ r *Runs }

// NewLoader returns an empty Loader.
func NewLoader(c Config) *Loader { return &Loader{New(c)} }

// Page adds the pairs of one page. An error wraps ErrPage.
func (l *Loader) Page(id PageID, page []byte) error {
	if len(page)%12 != 0 {
		return ErrPage
	}
	for ; len(page) > 0; page = page[12:] {
		l.r.Put(binary.LittleEndian.Uint64(page), binary.LittleEndian.Uint32(page[8:]))
	}
	return nil
}

// Add adds one pair that no page holds.
func (l *Loader) Add(key uint64, value uint32) { l.r.Put(key, value) }

// Runs returns what was loaded. The Loader is used up.
func (l *Loader) Runs() (*Runs, error) { return l.r, nil }
