package bands

import (
	"cmp"
	"slices"

	"jianguo/index/bands/buckets"
)

// AddKeys adds ordinal under each of keys: well-spread 64-bit hashes of what
// two short texts share when they are relatives. Equal keys are added once.
// Like Add, it doubles what is there already; RemoveKeys first where that can
// be.
func (b *Bands) AddKeys(keys []uint64, ordinal uint32) {
	checkOrdinal(ordinal)
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, k := range keys {
		if !slices.Contains(keys[:i], k) {
			b.keys.Append(k, ordinal)
		}
	}
}

// RemoveKeys removes the ordinal from each of keys, and returns how many
// postings that were.
func (b *Bands) RemoveKeys(keys []uint64, ordinal uint32) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	removed := 0
	for _, k := range keys {
		removed += b.keys.Remove(k, ordinal)
	}
	return removed
}

// Candidates appends to dst at most limit ordinals that share one of keys:
// those that share most keys first, newest (highest) first among equals. Of one key
// only the newest limit postings are looked at (those added last), so that a
// key that everyone has costs no more than a rare one.
//
// To be sure of meeting the right members of a hot family, add and ask for a
// narrower key beside the wide one (the same hash mixed with the digest of the
// facts): it is as rare as its facts, and who shares both comes first.
func (b *Bands) Candidates(dst []uint32, keys []uint64, limit int) []uint32 {
	if limit <= 0 {
		return dst
	}
	var buf [64]uint32
	met := buf[:0]
	pin := b.memory.Pin()
	for i, k := range keys {
		if !slices.Contains(keys[:i], k) {
			met = newest(met, b.keys.Bucket(uint16(k>>48)), k, limit)
		}
	}
	pin.Unpin()
	slices.Sort(met)
	type candidate struct {
		ordinal uint32
		shared  int
	}
	candidates := make([]candidate, 0, len(met))
	for _, o := range met {
		if n := len(candidates); n > 0 && candidates[n-1].ordinal == o {
			candidates[n-1].shared++
		} else {
			candidates = append(candidates, candidate{o, 1})
		}
	}
	slices.SortFunc(candidates, func(x, y candidate) int {
		return cmp.Or(y.shared-x.shared, cmp.Compare(y.ordinal, x.ordinal))
	})
	for _, c := range candidates[:min(limit, len(candidates))] {
		dst = append(dst, c.ordinal)
	}
	return dst
}

// newest appends at most limit ordinals of key, the last added first.
func newest(dst []uint32, v buckets.View, key uint64, limit int) []uint32 {
	hi, lo := uint32(key>>16), uint16(key)
	from, to := v.Equal(hi)
	for _, span := range [2][2]int{{v.Sorted, len(v.Hi)}, {from, to}} {
		for i := span[1] - 1; i >= span[0]; i-- {
			if v.Hi[i] != hi || v.Lo[i] != lo {
				continue
			}
			if limit == 0 {
				return dst
			}
			if o, ok := v.Ordinal(i); ok {
				dst = append(dst, o)
				limit--
			}
		}
	}
	return dst
}
