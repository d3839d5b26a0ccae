package buckets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

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

// AppendPage adds the postings of a page with that tag and first key, bucket by
// bucket, in the order in which they were added to each. Whatever page is, an
// error wraps ErrPage and leaves the batch as it was.
func (b *Batch) AppendPage(page []byte, tag uint8, first uint16) error {
	before := b.n
	err := b.appendPage(page, tag, first)
	if err != nil {
		b.cut(before)
		return fmt.Errorf("%w: %w", ErrPage, err)
	}
	return nil
}

func (b *Batch) appendPage(page []byte, tag uint8, first uint16) error {
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
	if page[5] > isNarrow {
		return fmt.Errorf("unknown kind of table %d", page[5])
	}
	r := pageReader{rest: page[headerBytes:end], narrow: page[5] == isNarrow}
	total := 0
	for slot := range PageKeys {
		n, err := r.bucket(b, (uint64(first)+uint64(slot))<<48)
		if err != nil {
			return fmt.Errorf("bucket %d: %w", slot, err)
		}
		total += n
	}
	if n := binary.LittleEndian.Uint32(page[8:]); uint64(n) != uint64(total) || len(r.rest) > 0 {
		return fmt.Errorf("%d postings, not %d; %d bytes over", total, n, len(r.rest))
	}
	return nil
}

// pageReader reads what stands between header and sum.
type pageReader struct {
	rest   []byte
	narrow bool
	keys   []uint64 // of one bucket
}

var errCut = errors.New("cut short")

// uvarint reads a number of at most 32 bits.
func (r *pageReader) uvarint() (uint32, error) {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		v := r.rest[0]
		r.rest = r.rest[1:]
		return uint32(v), nil
	}
	v, size := binary.Uvarint(r.rest)
	if size <= 0 || v > math.MaxUint32 {
		return 0, errCut
	}
	r.rest = r.rest[size:]
	return uint32(v), nil
}

// bucket reads one bucket, whose keys begin with upper, into b.
func (r *pageReader) bucket(b *Batch, upper uint64) (int, error) {
	count, err := r.uvarint()
	if err != nil || count == 0 {
		return 0, err
	}
	sorted, err := r.uvarint()
	n := int(count)
	if err != nil || n > len(r.rest) || sorted > count {
		return 0, errCut // a posting takes a byte at least: no length can claim more
	}
	if err := r.readKeys(n, int(sorted), upper); err != nil {
		return 0, err
	}
	last := uint32(0)
	for i, key := range r.keys {
		o, err := r.uvarint()
		if err != nil {
			return 0, err
		}
		if i >= int(sorted) {
			o += last
			last = o
		}
		if o == dead {
			return 0, errors.New("the ordinal of a tombstone")
		}
		b.Append(key, o)
	}
	return n, nil
}

func (r *pageReader) readKeys(n, sorted int, upper uint64) error {
	r.keys = slices.Grow(r.keys[:0], n)[:n]
	last := uint32(0)
	for i := range r.keys[:sorted] {
		step, err := r.uvarint()
		if err != nil || last+step < last {
			return errCut
		}
		last += step
		r.keys[i] = upper | uint64(last)<<16
	}
	others := r.keys[sorted:]
	if len(r.rest) < 4*len(others) {
		return errCut
	}
	for i := range others {
		others[i] = upper | uint64(binary.LittleEndian.Uint32(r.rest[4*i:]))<<16
	}
	r.rest = r.rest[4*len(others):]
	if r.narrow {
		return nil
	}
	if len(r.rest) < 2*n {
		return errCut
	}
	for i := range r.keys {
		r.keys[i] |= uint64(binary.LittleEndian.Uint16(r.rest[2*i:]))
	}
	r.rest = r.rest[2*n:]
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
