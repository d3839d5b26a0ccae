package buckets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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
		// One look at each bucket: what the writer does meanwhile must not part
		// the arrays from each other.
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

// LoadPage makes what AppendPage wrote, of that tag and first key, the page of a
// table in which nothing of it is yet. Different pages may be loaded side by
// side. The page does not count as changed. Whatever data is, an error wraps
// ErrPage and leaves the table as it was.
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
	var s sorter
	at := 0
	for i := range p.buckets {
		b, n := &p.buckets[i], int(c.counts[i])
		for k := range n {
			p.put(b.start+uint32(k), c.keys[at+k], c.ordinals[at+k])
		}
		at += n
		b.n.Store(uint32(n))
		b.sorted = c.sorted[i]
		if n > t.hot && b.sorted == 0 { // of a table that called other buckets hot
			s.merge(p, b.start, p.view(i))
			b.sorted = uint32(n)
		}
	}
	t.live.Add(int64(at))
	t.pages[number].Store(p)
	return nil
}

// content is what a page says, bucket by bucket, in the order in which the
// postings were added to each.
type content struct {
	keys           []uint64 // the lower 48 bits of each
	ordinals       []uint32
	counts, sorted [PageKeys]uint32

	rest   []byte // still to be read
	narrow bool
}

var contents = sync.Pool{New: func() any { return new(content) }}

func (c *content) read(page []byte, tag uint8, first uint16, narrow bool) error {
	if len(page) < headerBytes+PageKeys+sumBytes {
		return fmt.Errorf("%d bytes", len(page))
	}
	if [3]byte(page) != magic {
		return errors.New("no page begins so")
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
	c.rest, c.narrow = page[headerBytes:end], narrow
	c.keys, c.ordinals = c.keys[:0], c.ordinals[:0]
	for slot := range PageKeys {
		if err := c.bucket(slot); err != nil {
			return fmt.Errorf("bucket %d: %w", slot, err)
		}
	}
	if n := binary.LittleEndian.Uint32(page[8:]); uint64(n) != uint64(len(c.keys)) || len(c.rest) > 0 {
		return fmt.Errorf("%d postings, not %d; %d bytes over", len(c.keys), n, len(c.rest))
	}
	return nil
}

var errCut = errors.New("cut short")

// uvarint reads a number of at most 32 bits; most take one byte or two.
func (c *content) uvarint() (uint32, error) {
	if r := c.rest; len(r) > 1 {
		if r[0] < 0x80 {
			c.rest = r[1:]
			return uint32(r[0]), nil
		}
		if r[1] < 0x80 {
			c.rest = r[2:]
			return uint32(r[0]&0x7f) | uint32(r[1])<<7, nil
		}
	}
	v, size := binary.Uvarint(c.rest)
	if size <= 0 || v > math.MaxUint32 {
		return 0, errCut
	}
	c.rest = c.rest[size:]
	return uint32(v), nil
}

func (c *content) bucket(slot int) error {
	c.counts[slot], c.sorted[slot] = 0, 0
	count, err := c.uvarint()
	if err != nil || count == 0 {
		return err
	}
	sorted, err := c.uvarint()
	n := int(count)
	if err != nil || n > len(c.rest) || sorted > count {
		return errCut // a posting takes a byte at least: no length can claim more
	}
	c.counts[slot], c.sorted[slot] = count, sorted
	if err := c.readKeys(n, int(sorted)); err != nil {
		return err
	}
	at := len(c.ordinals)
	c.ordinals = slices.Grow(c.ordinals, n)[:at+n]
	last := uint32(0)
	for i := range c.ordinals[at:] {
		o, err := c.uvarint()
		if err != nil {
			return err
		}
		if i >= int(sorted) {
			o += last
			last = o
		}
		if o == dead {
			return errors.New("the ordinal of a tombstone")
		}
		c.ordinals[at+i] = o
	}
	return nil
}

func (c *content) readKeys(n, sorted int) error {
	at := len(c.keys)
	c.keys = slices.Grow(c.keys, n)[:at+n]
	keys := c.keys[at:]
	last := uint32(0)
	for i := range keys[:sorted] {
		step, err := c.uvarint()
		if err != nil || last+step < last {
			return errCut
		}
		last += step
		keys[i] = uint64(last) << 16
	}
	others := keys[sorted:]
	if len(c.rest) < 4*len(others) {
		return errCut
	}
	for i := range others {
		others[i] = uint64(binary.LittleEndian.Uint32(c.rest[4*i:])) << 16
	}
	c.rest = c.rest[4*len(others):]
	if c.narrow {
		return nil
	}
	if len(c.rest) < 2*n {
		return errCut
	}
	for i := range keys {
		keys[i] |= uint64(binary.LittleEndian.Uint16(c.rest[2*i:]))
	}
	c.rest = c.rest[2*n:]
	return nil
}

// TakeDirty returns the numbers of the pages that changed since the last call,
// in order, and forgets them. What changes from now on is dirty again.
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

// MarkDirty gives pages back to the next TakeDirty.
func (t *Table) MarkDirty(numbers []int) {
	for _, i := range numbers {
		t.dirty[i].Store(true)
	}
}
