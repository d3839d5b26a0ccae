// Package buckets is the table under the postings of bands and the look-ups
// of ids and normal forms: 64-bit keys with a 32-bit ordinal each, any number of them equal.
//
// The upper 16 bits of a key choose its bucket; the bucket holds the other 48
// bits and the ordinal inline, 10 bytes a posting, as three parallel arrays,
// so that a look-up that compares 32 bits reads 4 bytes a posting. 64
// neighbouring buckets lie in one block of memory, each with some slack, and
// an append writes into the slack of its bucket and publishes the new length.
// When a bucket is full, or there are many tombstones, the writer copies the page
// into a new block with new slack, about 10 KB per million postings, so no append
// waits long. Readers follow one pointer to the current block and see only what was
// published; they take no lock.
//
// A narrow table knows keys by their upper 48 bits only, 8 bytes a posting. That is
// enough where the caller checks each posting against the catalogue.
//
// One goroutine at a time may change a table. The memory of a block is released some time
// after the last View of it is unreachable, so that look-ups never wait. A function that
// reads a View keeps it alive to its end (View.KeepAlive).
//
// # Pages
//
// Snapshot writes the 64 buckets of one block: the number of postings of each, as varints
// (seven bits a byte, the lowest first, the eighth bit set but in the last byte). Then of
// each bucket, first to last, its n postings, little-endian:
//
//	4n bytes   key bits 16…47
//	2n bytes   key bits 0…15; not in a narrow table
//	n varints  ordinals, each less the one before modulo 2³²
//
// Postings mostly arrive by rising ordinal, so that the steps are short: 8.8 bytes a posting,
// 6.2 to 6.8 of a narrow table. The file that holds the pages (package resident) has their numbers
// and checksums.
//
// A page with the keys 0001 0123456789ab, ordinal 7, and 0003 fedcba987654,
// ordinals 1 and 300, in 86 bytes:
//
//	0    00 01 00 02                   | postings of the buckets 0 to 3
//	…    00                            | and of 60 empty ones
//	64   67452301 ab89 07              | bucket 1: bits 16…47, bits 0…15, ordinal
//	71   98badcfe 98badcfe             | bucket 3: bits 16…47 of two keys
//	79   5476 5476 01 ab02             | the last 16 bits, ordinal 1, then 299 more
package buckets

import (
	"iter"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"jianguo/internal/memory"
)

const (
	// Keys is the number of buckets of a Table.
	Keys = 1 << 16
	// Pages is the number of blocks a Table consists of.
	Pages = Keys / PageKeys
	// PageKeys is the number of buckets in one block.
	PageKeys = 64
	// MaxOrdinal is the largest ordinal a posting can carry.
	MaxOrdinal = dead - 1

	dead        = math.MaxUint32 // the ordinal of a tombstone
	wideBytes   = 10             // of a posting
	narrowBytes = 8
)

// Table is a multimap from 64-bit keys to ordinals.
type Table struct {
	narrow bool // knows keys by their upper 48 bits
	pages  [Pages]atomic.Pointer[page]

	live atomic.Int64 // postings; written by the writer
}

// page is a block and where its buckets are. All but n, ordinals and mixed is
// immutable once the page can be reached.
type page struct {
	hi       []uint32    // key bits 16…47
	lo       []uint16    // key bits 0…15; nil: narrow
	ordinals []uint32    // atomic once published: a tombstone replaces one in place
	dead     int         // tombstones; owned by the writer
	mixed    atomic.Bool // of a narrow table: in some bucket the ordinals do not rise; until the page is copied
	buckets  [PageKeys]bucket
}

type bucket struct {
	start, end uint32        // of its slots in the page's arrays
	n          atomic.Uint32 // slots published; those below n never change but for tombstones
}

// New returns an empty table. Keys of a narrow table that differ only in the lower 16 bits are equal.
func New(narrow bool) *Table { return &Table{narrow: narrow} }

// kept are the bits of a key that the table knows.
func (t *Table) kept(key uint64) uint64 {
	if t.narrow {
		return key &^ 0xffff
	}
	return key
}

// Len is the number of postings, tombstones not counted.
func (t *Table) Len() int { return int(t.live.Load()) }

// Append adds a posting. Writer only.
func (t *Table) Append(key uint64, ordinal uint32) {
	if ordinal > MaxOrdinal {
		panic("buckets: ordinal beyond MaxOrdinal")
	}
	number, slot := int(key>>54), int(key>>48%PageKeys)
	p := t.pages[number].Load()
	if p == nil || p.buckets[slot].full() {
		p = t.rebuild(number, slot)
	}
	b := &p.buckets[slot]
	n := b.n.Load()
	at := b.start + n
	if t.narrow && n > 0 && ordinal < p.ordinals[at-1] {
		p.mixed.Store(true)
	}
	p.put(at, key, ordinal)
	b.n.Store(n + 1)
	t.live.Add(1)
}

// put fills a slot.
func (p *page) put(at uint32, key uint64, ordinal uint32) {
	p.hi[at], p.ordinals[at] = uint32(key>>16), ordinal
	if p.lo != nil {
		p.lo[at] = uint16(key)
	}
}

func (b *bucket) full() bool { return b.start+b.n.Load() == b.end }

// Remove removes every posting with this key and ordinal, and returns how
// many there were. Writer only.
func (t *Table) Remove(key uint64, ordinal uint32) int {
	key = t.kept(key)
	number := int(key >> 54)
	p := t.pages[number].Load()
	if p == nil {
		return 0
	}
	v := p.view(int(key >> 48 % PageKeys))
	removed, ordinals := 0, v.ordinals()
	for i, hi := range v.Hi {
		if hi == uint32(key>>16) && v.Lo(i) == uint16(key) && ordinals[i] == ordinal {
			atomic.StoreUint32(&ordinals[i], dead)
			removed++
		}
	}
	if removed == 0 {
		return 0
	}
	p.dead += removed
	t.live.Add(-int64(removed))
	if p.dead > 4*PageKeys && p.dead > p.published()/4 {
		t.rebuild(number, -1)
	}
	return removed
}

func (p *page) published() int {
	n := 0
	for i := range p.buckets {
		n += int(p.buckets[i].n.Load())
	}
	return n
}

// capacity is the number of slots of a bucket of n postings.
func capacity(n int) int {
	return n + min(n/8, 128+n/64) + int(math.Sqrt(float64(n))) + 4
}

// rebuild copies a page into a new block, without its tombstones and with new
// slack: more for the bucket that was full, which may be the one that grows.
func (t *Table) rebuild(number, full int) *page {
	old := t.pages[number].Load()
	if old == nil {
		old = new(page)
	}
	var live, slots [PageKeys]int
	for i := range slots {
		live[i] = old.live(i)
		slots[i] = capacity(live[i])
		if i == full {
			slots[i] += min(live[i]/8, 128+live[i]/64)
		}
	}
	p := newPage(&slots, t.narrow)
	for i := range live {
		b := &p.buckets[i]
		p.copy(b.start, old.view(i))
		if old.mixed.Load() {
			p.sort(int(b.start), live[i])
		}
		b.n.Store(uint32(live[i]))
	}
	t.pages[number].Store(p)
	return p
}

// newPage returns an empty page with so many slots in its buckets. Its three arrays lie in
// one block, outside of the heap where that is possible.
func newPage(slots *[PageKeys]int, narrow bool) *page {
	p := new(page)
	n := 0
	for i, s := range slots {
		p.buckets[i].start = uint32(n)
		n += s
		p.buckets[i].end = uint32(n)
	}
	if n == 0 {
		return p
	}
	size := wideBytes
	if narrow {
		size = narrowBytes
	}
	// The heap and the system both align such a block to at least 8 bytes.
	base := unsafe.Pointer(unsafe.SliceData(memory.SliceFor[byte](p, n*size)))
	p.hi = unsafe.Slice((*uint32)(base), n)
	p.ordinals = unsafe.Slice((*uint32)(unsafe.Add(base, 4*n)), n)
	if !narrow {
		p.lo = unsafe.Slice((*uint16)(unsafe.Add(base, 8*n)), n)
	}
	return p
}

// live counts a bucket's postings. Writer only.
func (p *page) live(slot int) int {
	n := int(p.buckets[slot].n.Load())
	if p.dead == 0 {
		return n
	}
	v := p.view(slot)
	for _, o := range v.ordinals() {
		if o == dead {
			n--
		}
	}
	return n
}

// copy writes the live postings of v to the slots from at.
func (p *page) copy(at uint32, v View) {
	for i, o := range v.ordinals() {
		if o != dead {
			p.put(at, v.low(i), o)
			at++
		}
	}
}

// sort puts n postings of a narrow page into the order of their ordinals.
func (p *page) sort(from, n int) {
	hi, ordinals, both := p.hi[from:][:n], p.ordinals[from:][:n], make([]uint64, n)
	for i := range both {
		both[i] = uint64(ordinals[i])<<32 | uint64(hi[i])
	}
	slices.Sort(both)
	for i, x := range both {
		hi[i], ordinals[i] = uint32(x), uint32(x>>32)
	}
}

// find yields the ordinals under key.
func (t *Table) find(key uint64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		key := t.kept(key)
		v := t.Bucket(uint16(key >> 48))
		defer v.KeepAlive()
		for i, hi := range v.Hi {
			if hi != uint32(key>>16) || v.Lo(i) != uint16(key) {
				continue
			}
			if o, ok := v.Ordinal(i); ok && !yield(o) {
				return
			}
		}
	}
}

// Bytes is the memory of all blocks.
func (t *Table) Bytes() (n int64) {
	for i := range t.pages {
		if p := t.pages[i].Load(); p != nil {
			n += int64(len(p.hi)*narrowBytes + len(p.lo)*(wideBytes-narrowBytes))
		}
	}
	return n
}

// Slots is the number of slots that postings and tombstones take, and Σ n² of these over
// the buckets: divided by their number, the mean number of postings that the look-up of an
// added key reads.
func (t *Table) Slots() (all, squares float64) {
	for i := range t.pages {
		p := t.pages[i].Load()
		if p == nil {
			continue
		}
		for j := range p.buckets {
			n := float64(p.buckets[j].n.Load())
			all, squares = all+n, squares+n*n
		}
	}
	return all, squares
}

// View is a bucket at one moment. Its memory lies outside of what the garbage collector sees:
// it is valid until KeepAlive, which has to follow the last read.
type View struct {
	Hi     []uint32 // key bits 16…47 of each posting
	Rising bool     // the ordinals rise, in a narrow table
	page   *page
	from   uint32 // of the page's slots
}

// Bucket returns the bucket of the keys with these upper 16 bits.
func (t *Table) Bucket(key uint16) View {
	p := t.pages[key/PageKeys].Load()
	if p == nil {
		return View{}
	}
	return p.view(int(key % PageKeys))
}

// Prefetch prefetches what Bucket will read.
func (t *Table) Prefetch(key uint16) {
	if p := t.pages[key/PageKeys].Load(); p != nil {
		memory.PrefetchValue(&p.hi)
		memory.PrefetchValue(&p.buckets[key%PageKeys])
	}
}

// KeepAlive says that the view was read up to here.
func (v *View) KeepAlive() { runtime.KeepAlive(v.page) }

func (p *page) view(slot int) View {
	b := &p.buckets[slot]
	return View{p.hi[b.start:][:b.n.Load()], !p.mixed.Load(), p, b.start} // first the length
}

// ordinals are those of all postings, tombstones included.
func (v *View) ordinals() []uint32 {
	if v.page == nil {
		return nil
	}
	return v.page.ordinals[v.from:][:len(v.Hi)]
}

// Lo is key bits 0…15 of posting i; 0 in a narrow table.
func (v *View) Lo(i int) uint16 {
	if v.page.lo == nil {
		return 0
	}
	return v.page.lo[int(v.from)+i]
}

// low is key bits 0…47 of posting i.
func (v *View) low(i int) uint64 { return uint64(v.Hi[i])<<16 | uint64(v.Lo(i)) }

// prefetchMost bounds what Prefetch asks for of one bucket, in postings: past that the
// processor has recognised the sequence.
const prefetchMost = 1024

// Prefetch prefetches what a scan of Hi will read.
func (v *View) Prefetch() { memory.Prefetch(v.Hi[:min(len(v.Hi), prefetchMost)]) }

// PrefetchLo prefetches what Lo(i) will read.
func (v *View) PrefetchLo(i int) {
	if v.page.lo != nil {
		memory.PrefetchValue(&v.page.lo[int(v.from)+i])
	}
}

// Ordinal is the ordinal of posting i; !ok: it has been removed.
func (v *View) Ordinal(i int) (ordinal uint32, ok bool) {
	o := atomic.LoadUint32(&v.page.ordinals[int(v.from)+i])
	return o, o != dead
}
