package buckets

import (
	"slices"
	"sync"
	"unsafe"

	"jianguo/internal/offheap"
)

// batchBlock is how many postings share one allocation of a Batch.
const batchBlock = 1 << 16

// Batch collects postings from which tables are built, 12 bytes each, off the
// collector's heap. Not for concurrent use.
type Batch struct {
	parts []batchPart
	n     int
}

type batchPart struct {
	keys     []uint64
	ordinals []uint32
	block    block
}

// Append adds a posting.
func (b *Batch) Append(key uint64, ordinal uint32) {
	i := b.n % batchBlock
	if b.n/batchBlock == len(b.parts) {
		b.parts = append(b.parts, newBatchPart())
	}
	part := &b.parts[b.n/batchBlock]
	part.keys[i], part.ordinals[i] = key, ordinal
	b.n++
}

// Len is the number of postings.
func (b *Batch) Len() int { return b.n }

func newBatchPart() batchPart {
	m := offheap.New(12 * batchBlock)
	base := unsafe.Pointer(unsafe.SliceData(m.Bytes))
	return batchPart{
		unsafe.Slice((*uint64)(base), batchBlock),
		unsafe.Slice((*uint32)(unsafe.Add(base, 8*batchBlock)), batchBlock),
		m,
	}
}

// all calls f with the postings in the order in which they were added.
func (b *Batch) all(f func(keys []uint64, ordinals []uint32)) {
	for i, part := range b.parts {
		n := min(batchBlock, b.n-i*batchBlock)
		f(part.keys[:n], part.ordinals[:n])
	}
}

// Release gives back the batch's memory.
func (b *Batch) Release() {
	for _, part := range b.parts {
		part.block.Release()
	}
	*b = Batch{}
}

// Batches are what several goroutines fill at once. The zero value is ready
// to use.
type Batches struct {
	mu        sync.Mutex
	all, idle []*Batch // guarded by mu
}

// With calls fill with a batch that is nobody else's meanwhile.
func (l *Batches) With(fill func(*Batch)) {
	b := l.take()
	defer l.give(b)
	fill(b)
}

func (l *Batches) take() *Batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle); n > 0 {
		b := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return b
	}
	b := new(Batch)
	l.all = append(l.all, b)
	return b
}

func (l *Batches) give(b *Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, b)
}

// AppendTo appends all postings to a table. Writer only.
func (l *Batches) AppendTo(t *Table) {
	for _, b := range l.all {
		b.all(func(keys []uint64, ordinals []uint32) {
			for i, k := range keys {
				t.Append(k, ordinals[i])
			}
		})
	}
}

// Len is the number of postings in all batches. Nobody may fill one meanwhile.
func (l *Batches) Len() int {
	n := 0
	for _, b := range l.all {
		n += b.n
	}
	return n
}

// Build is Build of all batches.
func (l *Batches) Build(c Config, rotate int) *Table { return Build(c, rotate, l.all...) }

// Release gives back the memory of all batches.
func (l *Batches) Release() {
	for _, b := range l.all {
		b.Release()
	}
	l.all, l.idle = nil, nil
}

// Build returns a table of the postings of batches, each under its key rotated
// left by so many bits. Tables that share a Memory may be built side by side.
// No page of it is dirty.
func Build(c Config, rotate int, batches ...*Batch) *Table {
	return build(c, rotate, func(f func(keys []uint64, ordinals []uint32)) {
		for _, b := range batches {
			b.all(f)
		}
	})
}

// Rotated is Build of the postings of t, and of batches. Nobody may change t
// meanwhile.
func (t *Table) Rotated(c Config, rotate int) *Table {
	return build(c, rotate, t.all)
}

// all calls f with the live postings, bucket by bucket.
func (t *Table) all(f func(keys []uint64, ordinals []uint32)) {
	var keys []uint64
	var ordinals []uint32
	for number := range t.pages {
		p := t.pages[number].Load()
		if p == nil {
			continue
		}
		keys, ordinals = keys[:0], ordinals[:0]
		for slot := range PageKeys {
			upper := uint64(number*PageKeys+slot) << 48
			v := p.view(slot)
			for i, o := range v.ordinals() {
				if o != dead {
					keys, ordinals = append(keys, upper|v.low(i)), append(ordinals, o)
				}
			}
		}
		f(keys, ordinals)
	}
}

// build reads the postings twice, all calling its argument with parts of them,
// and orders them by page, a million at a time, in 32 MB of its own.
func build(c Config, rotate int, all func(func(keys []uint64, ordinals []uint32))) *Table {
	t := New(c)
	// One counter a bucket, then the slot of its next posting: the fill touches
	// a line of this and one of each array, and nothing else.
	next := make([]uint32, Keys)
	all(func(keys []uint64, _ []uint32) {
		for _, k := range keys {
			next[rotateLeft(k, rotate)>>48]++
		}
		t.live.Add(int64(len(keys)))
	})
	var pages [Pages]*page
	for i := range pages {
		pages[i] = t.mem.sized(next[i*PageKeys:][:PageKeys], t.narrow())
	}
	f := fill{pages: &pages, next: next, waiting: make([]Posting, 0, min(t.Len(), fillAtOnce))}
	all(func(keys []uint64, ordinals []uint32) {
		for i, k := range keys {
			f.add(rotateLeft(k, rotate), ordinals[i])
		}
	})
	f.flush()
	for i, p := range pages {
		if p != nil {
			t.publish(i, p, next[i*PageKeys:])
		}
	}
	return t
}

// fill writes postings into pages, so many at a time, ordered by page: to write
// each where it falls would miss the cache four times a posting.
type fill struct {
	pages            *[Pages]*page
	next             []uint32 // the slot of each bucket's next posting
	waiting, ordered []Posting
}

const fillAtOnce = 1 << 20

func (f *fill) add(key uint64, ordinal uint32) {
	if f.waiting = append(f.waiting, Posting{key, ordinal}); len(f.waiting) == fillAtOnce {
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

// publish makes a filled page reachable; ends are where its buckets' postings
// end.
func (t *Table) publish(number int, p *page, ends []uint32) {
	for i := range p.buckets {
		b := &p.buckets[i]
		n := ends[i] - b.start
		b.n.Store(n)
		if int(n) > t.hot {
			t.sorter.merge(p, b.start, p.view(i))
			b.sorted = n
		}
	}
	t.pages[number].Store(p)
}

// sized returns an empty page with room for counts[i] postings in bucket i,
// and leaves in counts where each begins; nil if there are none at all.
func (m *Memory) sized(counts []uint32, narrow bool) *page {
	if slices.Max(counts) == 0 {
		return nil
	}
	var slots [PageKeys]int
	for i, n := range counts {
		slots[i] = capacity(int(n))
	}
	p := m.page(&slots, narrow)
	for i := range counts {
		counts[i] = p.buckets[i].start
	}
	return p
}

func rotateLeft(x uint64, by int) uint64 { return x<<(by&63) | x>>(-by&63) }
