// Package runs holds the look-ups from a 64-bit hash to ordinals that every
// item needs: its id, and the hash of its normal form.
//
// Hashes collide and ids have versions, so a key may have several values; the
// caller checks each against the catalogue. Keys must be well spread (a hash
// such as xxh3): the upper 16 bits choose the bucket, and the next 32 are
// compared. The low 16 bits are not kept: among a hundred million ids one look-up
// in three million meets another's, and its caller finds out.
//
// It is the same table as under the postings of package bands; see package
// buckets for the layout, the page format and what concurrency is allowed.
// Log-structured runs of sorted keys were the other candidate: 12 bytes an entry
// too, more while a merge is under way, and a search in each run for
// every absent key, to save what an append here does not cost either: it never
// moves more than a page of 120 KB at 10 million entries.
//
// Size: 9.8 bytes an entry at 10 million, off the garbage collector's heap.
package runs

import (
	"fmt"
	"slices"
	"sync"

	"jianguo/index/bands/buckets"
)

// MaxValue is the largest value that can be put.
const MaxValue = buckets.MaxOrdinal

// tag marks the pages of runs.
const tag = 3

// Config configures Runs. The zero value is ready to use.
type Config struct{}

// Runs maps 64-bit hashes to values. Put is serialised by a lock; Get and
// Snapshot may run beside it and each other, and never wait for it.
type Runs struct {
	mu       sync.Mutex // serialises Put
	memory   *buckets.Memory
	table    *buckets.Table
	snapshot sync.Mutex // serialises Snapshot
}

// New returns an empty map.
func New(Config) *Runs {
	r := &Runs{memory: new(buckets.Memory)}
	r.table = buckets.New(r.config())
	return r
}

func (r *Runs) config() buckets.Config { return buckets.Config{Memory: r.memory, Narrow: true} }

// Close releases the memory. Nothing may use r beside it or after it.
func (r *Runs) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.table.Close()
}

// Put adds value under key, beside those already there. Putting the pair
// again adds nothing. It panics beyond MaxValue.
func (r *Runs) Put(key uint64, value uint32) {
	if value > MaxValue {
		panic(fmt.Sprintf("runs: value %d is beyond MaxValue", value))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for v := range r.table.Find(key) {
		if v == value {
			return
		}
	}
	r.table.Append(key, value)
}

// Get appends to dst the values under key, each once, highest first.
func (r *Runs) Get(dst []uint32, key uint64) []uint32 {
	n := len(dst)
	pin := r.memory.Pin()
	for v := range r.table.Find(key) {
		dst = append(dst, v)
	}
	pin.Unpin()
	if found := dst[n:]; len(found) > 1 {
		slices.Sort(found)
		slices.Reverse(found)
		dst = dst[:n+len(slices.Compact(found))]
	}
	return dst
}

// Len is the number of pairs.
func (r *Runs) Len() int { return r.table.Len() }

// Stats describe the map.
type Stats struct {
	Entries       int
	LargestBucket int
	Bytes         int64 // resident
}

// Stats counts over the whole map.
func (r *Runs) Stats() Stats {
	s := r.table.Stats()
	return Stats{s.Postings, s.Largest, r.memory.Bytes()}
}
