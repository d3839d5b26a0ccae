package bands

import (
	"cmp"
	"slices"

	"jianguo/index/bands/buckets"
)

// AddKeys adds ordinal under each of keys: well-spread 64-bit hashes of what
// two short texts share when they are relatives. Equal keys are added once.
// Like Add, it adds a posting that is there already once more; where that can be,
// call RemoveKeys first.
func (b *Bands) AddKeys(keys []uint64, ordinal uint32) {
	for i, k := range keys {
		if !Known(keys[:i], k) {
			b.keys.Append(k, ordinal)
		}
	}
}

// Known reports whether a key is among others, by the bits that are kept.
func Known(keys []uint64, key uint64) bool {
	return slices.ContainsFunc(keys, func(k uint64) bool { return k>>16 == key>>16 })
}

// RemoveKeys removes the ordinal from each of keys, and returns the number of
// postings removed.
func (b *Bands) RemoveKeys(keys []uint64, ordinal uint32) int {
	removed := 0
	for _, k := range keys {
		removed += b.keys.Remove(k, ordinal)
	}
	return removed
}

// Candidates appends to dst at most limit ordinals that share one of keys. Of
// each key only the newest limit postings are read (the highest ordinals), so
// that a very frequent key costs no more than a rare one.
//
// The order is: those that share the most keys which were read in full,
// then those that share the most of the others, then the newest (highest). So a
// frequent key never displaces a rare one. To meet the right members of a large
// family for certain, add and ask for a narrower key beside the wide one (the
// same hash mixed with the digest of the facts).
func (b *Bands) Candidates(dst []uint32, keys []uint64, limit int) []uint32 {
	if limit <= 0 {
		return dst
	}
	var buf [64]candidate
	met := buf[:0]
	for i := -prefetchPostings; i < len(keys); i++ {
		if ahead := i + prefetchPostings; ahead < len(keys) {
			v := b.keys.Bucket(uint16(keys[ahead] >> 48))
			v.Prefetch()
		}
		if i >= 0 && !Known(keys[:i], keys[i]) {
			met = b.newest(met, b.keys.Bucket(uint16(keys[i]>>48)), keys[i], limit)
		}
	}
	slices.SortFunc(met, func(x, y candidate) int { return cmp.Compare(x.ordinal, y.ordinal) })
	n := 0
	for _, c := range met {
		if n > 0 && met[n-1].ordinal == c.ordinal {
			met[n-1].shared += c.shared
			continue
		}
		met[n] = c
		n++
	}
	met = met[:n]
	slices.SortFunc(met, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.shared, x.shared), cmp.Compare(y.ordinal, x.ordinal))
	})
	for _, c := range met[:min(limit, n)] {
		dst = append(dst, c.ordinal)
	}
	return dst
}

// candidate is an ordinal and what it shares with the query: whole for each key
// that was read in full, part for each other.
type candidate struct {
	ordinal uint32
	shared  uint64
}

const (
	part  = 1
	whole = 1 << 32 // more than any number of parts
)

// newest appends the limit highest ordinals of key.
func (b *Bands) newest(met []candidate, v buckets.View, key uint64, limit int) []candidate {
	defer v.KeepAlive()
	start, lowest := len(met), uint32(0) // lowest is that of the limit; 0: there are not so many yet
	for i := len(v.Hi) - 1; i >= 0; i-- {
		o, ok := uint32(0), v.Hi[i] == uint32(key>>16)
		if ok {
			o, ok = b.ordinal(&v, i)
		}
		if !ok || o < lowest {
			continue
		}
		met = append(met, candidate{o, whole})
		if found := met[start:]; len(found) > limit {
			slices.SortFunc(found, func(x, y candidate) int { return cmp.Compare(y.ordinal, x.ordinal) })
			if met, lowest = met[:start+limit], found[limit-1].ordinal; v.Rising {
				break
			}
		}
	}
	for i := start; i < len(met) && lowest > 0; i++ { // the key is not read in full
		met[i].shared = part
	}
	return met
}
