package buckets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
)

// ErrPage says that bytes are not a whole page.
var ErrPage = errors.New("not a whole page")

// Snapshot calls emit with every page that is in use, in order, while look-ups and the writer go on. The bytes are
// valid until emit returns.
//
// A page is not of one moment: it holds every posting that stood all through the call, and
// may or may not hold one that was added or removed meanwhile.
func (t *Table) Snapshot(emit func(number int, page []byte) error) error {
	var page []byte
	for i := range t.pages {
		if t.pages[i].Load() == nil {
			continue
		}
		page = t.appendPage(page[:0], i)
		if err := emit(i, page); err != nil {
			return err
		}
	}
	return nil
}

// appendPage appends a page to dst. The package comment describes the format.
func (t *Table) appendPage(dst []byte, number int) []byte {
	p := t.pages[number].Load()
	if p == nil {
		p = new(page)
	}
	defer runtime.KeepAlive(p)
	// The ordinals are read once: the writer may turn one into a tombstone meanwhile.
	var slots []int
	var ordinals []uint32
	var ends [PageKeys]int
	for i := range ends {
		v, before := p.view(i), len(slots)
		for j := range v.Hi {
			if o, ok := v.Ordinal(j); ok {
				slots, ordinals = append(slots, int(v.from)+j), append(ordinals, o)
			}
		}
		ends[i] = len(slots)
		dst = binary.AppendUvarint(dst, uint64(ends[i]-before))
	}
	from := 0
	for _, end := range ends {
		for _, slot := range slots[from:end] {
			dst = binary.LittleEndian.AppendUint32(dst, p.hi[slot])
		}
		if p.lo != nil {
			for _, slot := range slots[from:end] {
				dst = binary.LittleEndian.AppendUint16(dst, p.lo[slot])
			}
		}
		last := uint32(0)
		for _, o := range ordinals[from:end] {
			dst = binary.AppendUvarint(dst, uint64(o-last))
			last = o
		}
		from = end
	}
	return dst
}

// LoadPage adds a page that the table does not have yet. Several goroutines may load different
// pages at once. data may be anything: an error wraps ErrPage
// and leaves the table as it was.
func (t *Table) LoadPage(number int, data []byte) error {
	if number < 0 || number >= Pages || t.pages[number].Load() != nil {
		return fmt.Errorf("%w: there is a page %d, or none can be", ErrPage, number)
	}
	var counts [PageKeys]uint32
	data, err := uvarints(counts[:], data)
	total := uint64(0)
	for _, n := range counts {
		total += uint64(n)
	}
	if err != nil || total > uint64(len(data)) { // bounds what is allocated
		return fmt.Errorf("%w: page %d: %d postings in %d bytes", ErrPage, number, total, len(data))
	}
	var slots [PageKeys]int
	for i, n := range counts {
		slots[i] = capacity(int(n))
	}
	p := newPage(&slots, t.narrow)
	for i, n := range counts {
		if err == nil {
			data, err = p.load(&p.buckets[i], n, data)
		}
	}
	if err == nil && len(data) > 0 {
		err = errCut
	}
	if err != nil {
		return fmt.Errorf("%w: page %d: %w", ErrPage, number, err)
	}
	if total > 0 {
		t.live.Add(int64(total))
		t.pages[number].Store(p)
	}
	return nil
}

var errCut = errors.New("its numbers do not fit its length")

// load reads the n postings of a bucket from the start of data, and returns the rest.
func (p *page) load(b *bucket, n uint32, data []byte) (rest []byte, err error) {
	fixed := 4 * int(n)
	if p.lo != nil {
		fixed += 2 * int(n)
	}
	if len(data) < fixed {
		return nil, errCut
	}
	hi, ordinals := p.hi[b.start:][:n], p.ordinals[b.start:][:n]
	for i := range hi {
		hi[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if p.lo != nil {
		for i, lo := 0, p.lo[b.start:][:n]; i < len(lo); i++ {
			lo[i] = binary.LittleEndian.Uint16(data[4*len(hi)+2*i:])
		}
	}
	if rest, err = uvarints(ordinals, data[fixed:]); err != nil {
		return nil, err
	}
	last := uint32(0)
	for i, step := range ordinals {
		if last += step; last == dead {
			return nil, errCut
		}
		if p.lo == nil && last < step {
			p.mixed.Store(true)
		}
		ordinals[i] = last
	}
	b.n.Store(n)
	return rest, nil
}

// uvarints reads numbers of at most 32 bits from the start of b, and returns the rest.
func uvarints(to []uint32, b []byte) (rest []byte, err error) {
	for i := range to {
		v, size := binary.Uvarint(b)
		if size <= 0 || v > math.MaxUint32 {
			return nil, errCut
		}
		to[i], b = uint32(v), b[size:]
	}
	return b, nil
}
