package buckets

import (
	"sync/atomic"

	"jianguo/internal/prefetch"
)

// View is a bucket at one moment. It is valid until the Pin under which it
// was taken ends.
type View struct {
	Hi   []uint32 // key bits 16…47 of each posting
	page *page
	from uint32 // of the page's slots
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
		prefetch.Value(&p.hi)
		prefetch.Value(&p.buckets[key%PageKeys])
	}
}

func (p *page) view(slot int) View {
	b := &p.buckets[slot]
	return View{p.hi[b.start:][:b.n.Load()], p, b.start}
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
func (v *View) Prefetch() { prefetch.Slice(v.Hi[:min(len(v.Hi), prefetchMost)]) }

// PrefetchLo prefetches what Lo(i) will read.
func (v *View) PrefetchLo(i int) {
	if v.page.lo != nil {
		prefetch.Value(&v.page.lo[int(v.from)+i])
	}
}

// Ordinal is the ordinal of posting i; !ok: it has been removed.
func (v *View) Ordinal(i int) (ordinal uint32, ok bool) {
	o := atomic.LoadUint32(&v.page.ordinals[int(v.from)+i])
	return o, o != dead
}
