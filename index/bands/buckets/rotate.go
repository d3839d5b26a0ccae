package buckets

import "slices"

// Rotate returns a fingerprint's key in a band: its bits from band·16 first.
func Rotate(x uint64, band int) uint64 { return x<<(16*band&63) | x>>(-16*band&63) }

// Rotated returns a table of the live postings of t, each under its key as Rotate
// returns it for a band. It shares the Memory of t; several may be made at once, while
// nothing changes t. None of its pages is dirty.
func (t *Table) Rotated(band int) *Table {
	to := New(t.mem, t.narrow)
	// One counter a bucket, then the slot of its next posting: the fill touches
	// a line of this and one of each array, and nothing else.
	next := make([]uint32, Keys)
	t.all(func(q Posting) { next[Rotate(q.Key, band)>>48]++ })
	to.live.Store(t.live.Load())
	f := fill{next: next, waiting: make([]Posting, 0, min(t.Len(), fillAtOnce))}
	for i := range f.pages {
		counts := next[i*PageKeys:][:PageKeys]
		if f.pages[i] = to.mem.sized(counts, to.narrow); f.pages[i] != nil {
			for slot := range counts {
				f.pages[i].buckets[slot].n.Store(counts[slot])
				counts[slot] = f.pages[i].buckets[slot].start
			}
		}
	}
	t.all(func(q Posting) { f.add(Posting{Rotate(q.Key, band), q.Ordinal}) })
	f.flush()
	for i, p := range f.pages {
		if p != nil {
			to.pages[i].Store(p)
		}
	}
	return to
}

// all calls f with the live postings, bucket by bucket.
func (t *Table) all(f func(Posting)) {
	for number := range t.pages {
		p := t.pages[number].Load()
		if p == nil {
			continue
		}
		for slot := range PageKeys {
			upper := uint64(number*PageKeys+slot) << 48
			v := p.view(slot)
			for i, o := range v.ordinals() {
				if o != dead {
					f(Posting{upper | v.low(i), o})
				}
			}
		}
	}
}

// fill writes postings into pages, a million at a time, ordered by page: writing
// each where it falls would miss the cache four times a posting.
type fill struct {
	pages            [Pages]*page
	next             []uint32 // the slot of each bucket's next posting
	waiting, ordered []Posting
}

const fillAtOnce = 1 << 20

func (f *fill) add(q Posting) {
	if f.waiting = append(f.waiting, q); len(f.waiting) == fillAtOnce {
		f.flush()
	}
}

func (f *fill) flush() {
	var at [Pages + 1]int
	for _, q := range f.waiting {
		at[q.Key>>54+1]++
	}
	for i := range Pages {
		at[i+1] += at[i]
	}
	f.ordered = slices.Grow(f.ordered[:0], len(f.waiting))[:len(f.waiting)]
	for _, q := range f.waiting {
		i := &at[q.Key>>54]
		f.ordered[*i] = q
		*i++
	}
	for _, q := range f.ordered {
		p, to := f.pages[q.Key>>54], f.next[q.Key>>48]
		f.next[q.Key>>48] = to + 1
		p.put(to, q.Key, q.Ordinal)
	}
	f.waiting = f.waiting[:0]
}

// sized returns an empty page with room for counts[i] postings in bucket i; nil if there are
// none at all.
func (m *Memory) sized(counts []uint32, narrow bool) *page {
	if slices.Max(counts) == 0 {
		return nil
	}
	var slots [PageKeys]int
	for i, n := range counts {
		slots[i] = capacity(int(n))
	}
	return m.page(&slots, narrow)
}
