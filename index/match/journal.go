package match

import (
	"slices"
	"sync/atomic"

	"jianguo/index/resident"
)

// journal holds the last changes of the postings, in order: what a search that
// was made a little earlier may have missed. All but next belongs to the writer.
type journal struct {
	// next is the number of the next change. A change is made in the postings
	// before it is added here, so a search that starts after next was read misses
	// no change below it.
	next    atomic.Uint64
	changes [journalLength]change
	begin   uint64            // changes before it are forgotten
	keys    map[uint64]uint64 // key -> number of the last change under it
}

// change is one exemplar's posting, added or removed.
type change struct {
	resident.Posting
	ordinal uint32
	removed bool
}

// journalLength is how many changes are remembered: several batches' worth.
const journalLength = 4096

func (j *journal) add(c change) {
	if j.keys == nil {
		j.keys = map[uint64]uint64{}
	}
	n := j.next.Load()
	slot := &j.changes[n%journalLength]
	if n-j.begin >= journalLength {
		j.begin = n - journalLength + 1
		for _, k := range slot.Keys {
			if j.keys[k] == n-journalLength {
				delete(j.keys, k)
			}
		}
	}
	*slot = c
	for _, k := range c.Keys {
		j.keys[k] = n
	}
	j.next.Store(n + 1)
}

// reset forgets all changes: no search made so far can be brought up to date.
func (j *journal) reset() {
	clear(j.keys)
	clear(j.changes[:])
	j.begin = j.next.Add(1)
}

// since returns the changes from a number on, in two parts.
func (j *journal) since(number uint64) (parts [2][]change) {
	next := j.next.Load()
	if number >= next {
		return parts
	}
	from, to := number%journalLength, (next-1)%journalLength+1
	if from < to {
		parts[0] = j.changes[from:to]
		return parts
	}
	parts[0], parts[1] = j.changes[from:], j.changes[:to]
	return parts
}

// sharing reports whether a change from a number on was under one of keys.
func (j *journal) sharing(keys []uint64, since uint64) bool {
	return slices.ContainsFunc(keys, func(k uint64) bool {
		n, ok := j.keys[k]
		return ok && n >= since
	})
}
