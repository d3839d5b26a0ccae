// Package bands holds postings in memory: which exemplars have which 16-bit
// key in which band.
package bands

import (
	"slices"
	"sync"

	"jianguo/simhash"
)

// Bands is the number of 16-bit bands a fingerprint is cut into.
const bandCount = 4

// Hit is a posting that a look-up proposes.
type Hit struct {
	Fingerprint simhash.Fingerprint
	Ordinal     uint32
}

// MaxOrdinal is the largest ordinal a posting can carry.
const MaxOrdinal = 1<<32 - 2

// Config configures Bands. The zero value is ready to use.
type Config struct{}

// Budget bounds a margin look-up. The zero value lets the size of the index
// decide.
type Budget struct {
	// Probes is how many keys are tried in each band; 0: by the size of the
	// index.
	Probes int
}

// Bands are resident postings. One goroutine at a time may change them (Add,
// Remove, AddKeys, RemoveKeys are serialised by a lock); look-ups and
// Snapshot may run beside it and each other, and never wait for it.
type Bands struct {
	mu   sync.RWMutex
	fps  map[uint32]simhash.Fingerprint
	keys map[uint64][]uint32
}

// New returns empty postings.
func New(Config) *Bands {
	return &Bands{fps: map[uint32]simhash.Fingerprint{}, keys: map[uint64][]uint32{}}
}

// Close releases the memory. No look-up may run beside it or after it.
func (b *Bands) Close() {}

// Add adds a posting in every band. Adding one that is there already doubles
// it: where that is possible (a replay over a snapshot), use Set.
func (b *Bands) Add(fp simhash.Fingerprint, ordinal uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fps[ordinal] = fp
}

// Set makes the posting exist exactly once.
func (b *Bands) Set(fp simhash.Fingerprint, ordinal uint32) {
	b.Remove(fp, ordinal)
	b.Add(fp, ordinal)
}

// Remove removes the posting from every band and reports whether it was there.
func (b *Bands) Remove(fp simhash.Fingerprint, ordinal uint32) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if have, ok := b.fps[ordinal]; !ok || have != fp {
		return false
	}
	delete(b.fps, ordinal)
	return true
}

// Hamming appends to dst every posting at distance ≤ max of fp, each once, in
// no order. max is 0…3; within that nothing is missed.
func (b *Bands) Hamming(dst []Hit, fp simhash.Fingerprint, max int) []Hit {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for o, c := range b.fps {
		if simhash.Distance(fp, c) <= max {
			dst = append(dst, Hit{c, o})
		}
	}
	return dst
}

// HammingLimit is Hamming bounded: of more than limit postings at distance ≤
// max it appends the nearest, and of those at one distance the newest (the
// highest ordinals). cut says that there were more.
func (b *Bands) HammingLimit(dst []Hit, fp simhash.Fingerprint, max, limit int) (hits []Hit, cut bool) {
	n := len(dst)
	dst = b.Hamming(dst, fp, max)
	found := dst[n:]
	slices.SortFunc(found, func(x, y Hit) int {
		if c := simhash.Distance(fp, x.Fingerprint) - simhash.Distance(fp, y.Fingerprint); c != 0 {
			return c
		}
		return int(y.Ordinal) - int(x.Ordinal)
	})
	if len(found) > limit {
		return dst[:n+limit], true
	}
	return dst, false
}

// Margin appends to dst postings c with S(p, c) < maxS, each once, in no
// order: those that the probes of the budget reach.
func (b *Bands) Margin(dst []Hit, p *simhash.Print, maxS float32, budget Budget) []Hit {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for o, c := range b.fps {
		if p.S(c) < maxS {
			dst = append(dst, Hit{c, o})
		}
	}
	return dst
}

// AddKeys adds ordinal under each of keys (hashes of what two short texts
// share when they are relatives). Equal keys are added once.
func (b *Bands) AddKeys(keys []uint64, ordinal uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range keys {
		if !slices.Contains(b.keys[k], ordinal) {
			b.keys[k] = append(b.keys[k], ordinal)
		}
	}
}

// RemoveKeys removes what AddKeys with the same arguments added, and returns
// how many postings that were.
func (b *Bands) RemoveKeys(keys []uint64, ordinal uint32) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, k := range keys {
		if i := slices.Index(b.keys[k], ordinal); i >= 0 {
			b.keys[k] = slices.Delete(b.keys[k], i, i+1)
			n++
		}
	}
	return n
}

// Candidates appends to dst at most limit ordinals that share one of keys:
// those that share most keys first, newest first among equals. Of one key
// only the newest limit postings are looked at, so that a key that everyone
// has costs no more than a rare one. To be sure of meeting the right members
// of a hot family, add and ask for a narrower key beside the wide one (the
// same hash mixed with the digest of the facts): who shares both comes first.
func (b *Bands) Candidates(dst []uint32, keys []uint64, limit int) []uint32 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	count := map[uint32]int{}
	for _, k := range keys {
		for _, o := range b.keys[k] {
			count[o]++
		}
	}
	n := len(dst)
	for o := range count {
		dst = append(dst, o)
	}
	slices.SortFunc(dst[n:], func(x, y uint32) int {
		if c := count[y] - count[x]; c != 0 {
			return c
		}
		return int(y) - int(x)
	})
	return dst[:min(len(dst), n+limit)]
}

// Len is the number of fingerprints held.
func (b *Bands) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.fps)
}

// Stats describe the postings.
type Stats struct {
	Fingerprints  int   // in every band
	KeyPostings   int   // of AddKeys
	Tombstones    int   // removed and not yet rebuilt, all families
	LargestBucket int   // postings in the fullest bucket of any band
	HotBuckets    int   // buckets split by a second level
	Bytes         int64 // resident, all families
	// Skew is the number of postings the look-up of an indexed fingerprint
	// meets in a band, over what it would be were all buckets equally full.
	Skew float64
}

// Stats counts over all buckets.
func (b *Bands) Stats() Stats { return Stats{Fingerprints: b.Len()} }
