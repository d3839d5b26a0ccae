package buckets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"
)

// Version is the version of the page format; see the package comment.
const Version = 2

const (
	headerBytes = 12
	sumBytes    = 8
	isNarrow    = 1 // in byte 5
)

var magic = [3]byte{'j', 'g', 'p'}

// ErrPage says that bytes are not a whole page of this format.
var ErrPage = errors.New("not a whole page")

// AppendPage appends the encoding of page number (its buckets are those of
// keys number·64 to number·64+63) to dst. tag says what the postings are.
// Takes its own Pin.
func (t *Table) AppendPage(dst []byte, number int, tag uint8) []byte {
	pin := t.mem.Pin()
	defer pin.Unpin()
	start := len(dst)
	dst = append(dst, magic[:]...)
	dst = append(dst, Version, tag, 0)
	if t.narrow() {
		dst[start+5] = isNarrow
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(number*PageKeys))
	dst = append(dst, 0, 0, 0, 0)
	p := t.pages[number].Load()
	if p == nil {
		p = new(page)
	}
	total := 0
	var ordinals []uint32
	for i := range PageKeys {
		// The ordinals are read once: the writer may turn one into a tombstone
		// meanwhile, and the three arrays must agree.
		v := p.view(i)
		ordinals = ordinals[:0]
		n, sorted := 0, 0
		for j := range v.Hi {
			o, ok := v.Ordinal(j)
			ordinals = append(ordinals, o)
			if !ok {
				continue
			}
			n++
			if j < v.Sorted {
				sorted++
			}
		}
		dst = binary.AppendUvarint(dst, uint64(n))
		if n > 0 {
			dst = binary.AppendUvarint(dst, uint64(sorted))
			dst = v.appendTo(slices.Grow(dst, wideBytes*n), ordinals)
		}
		total += n
	}
	binary.LittleEndian.PutUint32(dst[start+8:], uint32(total))
	return binary.LittleEndian.AppendUint64(dst, xxh3.Hash(dst[start:]))
}

// appendTo appends the three arrays of a bucket with these ordinals, without
// its tombstones.
func (v *View) appendTo(dst []byte, ordinals []uint32) []byte {
	last := uint32(0)
	for j, hi := range v.Hi {
		switch {
		case ordinals[j] == dead:
		case j < v.Sorted:
			dst = binary.AppendUvarint(dst, uint64(hi-last))
			last = hi
		default:
			dst = binary.LittleEndian.AppendUint32(dst, hi)
		}
	}
	if len(v.Hi) > 0 && v.page.lo != nil {
		for j := range v.Hi {
			if ordinals[j] != dead {
				dst = binary.LittleEndian.AppendUint16(dst, v.Lo(j))
			}
		}
	}
	last = 0
	for j, o := range ordinals {
		switch {
		case o == dead:
		case j < v.Sorted:
			dst = binary.AppendUvarint(dst, uint64(o))
		default:
			dst = binary.AppendUvarint(dst, uint64(o-last))
			last = o
		}
	}
	return dst
}

// LoadPage adds a page that AppendPage wrote with that tag and first key, which the
// table does not have yet. Several goroutines may load different pages at once. The
// page does not count as changed. data may be anything: an error wraps ErrPage and
// leaves the table as it was.
func (t *Table) LoadPage(data []byte, tag uint8, first uint16) error {
	c := contents.Get().(*content)
	defer contents.Put(c)
	if err := c.read(data, tag, first, t.narrow()); err != nil {
		return fmt.Errorf("%w: %w", ErrPage, err)
	}
	number := int(first) / PageKeys
	if t.pages[number].Load() != nil {
		return fmt.Errorf("%w: a second page %d/%d", ErrPage, tag, first)
	}
	counts := c.counts
	p := t.mem.sized(counts[:], t.narrow())
	if p == nil {
		return nil
	}
	at := 0
	for i := range p.buckets {
		b, n := &p.buckets[i], int(c.counts[i])
		copy(p.hi[b.start:], c.hi[at:at+n])
		copy(p.ordinals[b.start:], c.ordinals[at:at+n])
		if p.lo != nil {
			copy(p.lo[b.start:], c.lo[at:at+n])
		}
		at += n
		b.n.Store(uint32(n))
		b.sorted = c.sorted[i]
		if n > t.hot && b.sorted == 0 { // it was written with a higher Config.Hot
			p.merge(b.start, p.view(i))
			b.sorted = uint32(n)
		}
	}
	t.live.Add(int64(at))
	t.pages[number].Store(p)
	return nil
}

// content is a decoded page, bucket by bucket, the postings of each in the order in
// which they were added.
type content struct {
	hi, ordinals   []uint32
	lo             []uint16 // none of a narrow table
	counts, sorted [PageKeys]uint32
}

var contents = sync.Pool{New: func() any { return new(content) }}

func (c *content) read(page []byte, tag uint8, first uint16, narrow bool) error {
	if len(page) < headerBytes+PageKeys+sumBytes {
		return fmt.Errorf("%d bytes", len(page))
	}
	if [3]byte(page) != magic {
		return errors.New("it does not begin as a page does")
	}
	if page[3] != Version {
		return fmt.Errorf("version %d, this is %d", page[3], Version)
	}
	end := len(page) - sumBytes
	if sum := xxh3.Hash(page[:end]); sum != binary.LittleEndian.Uint64(page[end:]) {
		return errors.New("checksum")
	}
	if at := binary.LittleEndian.Uint16(page[6:]); page[4] != tag || at != first || first%PageKeys != 0 {
		return fmt.Errorf("it is page %d/%d", page[4], at)
	}
	if page[5] > isNarrow || page[5] == isNarrow != narrow {
		return fmt.Errorf("another kind of table: %d", page[5])
	}
	rest := page[headerBytes:end]
	c.hi, c.lo, c.ordinals = c.hi[:0], c.lo[:0], c.ordinals[:0]
	for slot := range PageKeys {
		var err error
		if rest, err = c.bucket(slot, rest, narrow); err != nil {
			return fmt.Errorf("bucket %d: %w", slot, err)
		}
	}
	if n := binary.LittleEndian.Uint32(page[8:]); uint64(n) != uint64(len(c.hi)) || len(rest) > 0 {
		return fmt.Errorf("%d postings, not %d; %d bytes over", len(c.hi), n, len(rest))
	}
	return nil
}

var errCut = errors.New("cut short")

// bucket decodes one bucket from the start of b, and returns the rest.
func (c *content) bucket(slot int, b []byte, narrow bool) (rest []byte, err error) {
	c.counts[slot], c.sorted[slot] = 0, 0
	var head [2]uint32 // postings, and how many of them are sorted
	b, err = uvarints(head[:1], b)
	if err != nil || head[0] == 0 {
		return b, err
	}
	b, err = uvarints(head[1:], b)
	n, sorted := int(head[0]), int(head[1])
	if err != nil || n > len(b) || sorted > n {
		return nil, errCut // a posting takes at least a byte, which bounds what is allocated
	}
	c.counts[slot], c.sorted[slot] = head[0], head[1]
	at := len(c.hi)
	c.hi = slices.Grow(c.hi, n)[:at+n]
	if b, err = readHi(c.hi[at:], sorted, b); err != nil {
		return nil, err
	}
	if !narrow {
		c.lo = slices.Grow(c.lo, n)[:at+n]
		if b, err = readLo(c.lo[at:], b); err != nil {
			return nil, err
		}
	}
	c.ordinals = slices.Grow(c.ordinals, n)[:at+n]
	return readOrdinals(c.ordinals[at:], sorted, b)
}

// readHi reads bits 16…47 of the keys: the sorted ones as differences, the others as
// they are.
func readHi(hi []uint32, sorted int, b []byte) (rest []byte, err error) {
	if b, err = uvarints(hi[:sorted], b); err != nil {
		return nil, err
	}
	last := uint32(0)
	for i, step := range hi[:sorted] {
		if last+step < last {
			return nil, errCut
		}
		last += step
		hi[i] = last
	}
	others := hi[sorted:]
	if len(b) < 4*len(others) {
		return nil, errCut
	}
	for i := range others {
		others[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return b[4*len(others):], nil
}

// readLo reads bits 0…15 of the keys.
func readLo(lo []uint16, b []byte) (rest []byte, err error) {
	if len(b) < 2*len(lo) {
		return nil, errCut
	}
	for i := range lo {
		lo[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return b[2*len(lo):], nil
}

// readOrdinals reads those of the sorted postings as they are, and the others as
// differences.
func readOrdinals(ordinals []uint32, sorted int, b []byte) (rest []byte, err error) {
	if rest, err = uvarints(ordinals, b); err != nil {
		return nil, err
	}
	last := uint32(0)
	for i, o := range ordinals {
		if i >= sorted {
			last += o
			o = last
			ordinals[i] = o
		}
		if o == dead {
			return nil, errors.New("the ordinal of a tombstone")
		}
	}
	return rest, nil
}

// uvarints decodes numbers of at most 32 bits from the start of b, and returns the
// rest.
func uvarints(to []uint32, b []byte) (rest []byte, err error) {
	const more = 0x80808080_80808080 // of each byte but a number's last
	for i := range to {
		if len(b) >= 8 {
			w := binary.LittleEndian.Uint64(b)
			if size := bits.TrailingZeros64(^w&more)/8 + 1; size <= 4 {
				w &= 1<<(8*size) - 1
				to[i] = uint32(w&0x7f | w>>1&0x3f80 | w>>2&0x1fc000 | w>>3&0xfe00000)
				b = b[size:]
				continue
			}
		}
		v, size := binary.Uvarint(b)
		if size <= 0 || v > math.MaxUint32 {
			return nil, errCut
		}
		to[i], b = uint32(v), b[size:]
	}
	return b, nil
}

// TakeDirty returns the numbers of the pages that changed since the last call,
// in order, and marks them clean.
func (t *Table) TakeDirty() []int {
	var numbers []int
	for i := range t.dirty {
		if t.dirty[i].Swap(false) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// MarkAllDirty makes the next TakeDirty return every page.
func (t *Table) MarkAllDirty() {
	for i := range t.dirty {
		t.dirty[i].Store(true)
	}
}

// MarkDirty makes the next TakeDirty return these pages.
func (t *Table) MarkDirty(numbers []int) {
	for _, i := range numbers {
		t.dirty[i].Store(true)
	}
}
