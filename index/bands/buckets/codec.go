package buckets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"
)

// Version is the version of the page format; see the package comment.
const Version = 1

const (
	headerBytes = 12 + 4*PageKeys
	sumBytes    = 8
	// MaxPagePostings bounds a page (and so what a hostile length can claim).
	MaxPagePostings = 1 << 28
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
	dst = binary.LittleEndian.AppendUint16(dst, uint16(number*PageKeys))
	dst = append(dst, make([]byte, headerBytes-8)...)
	head := dst[start:]

	p := t.pages[number].Load()
	if p == nil {
		p = new(page)
	}
	// One look at each bucket: what the writer does meanwhile must not part
	// the arrays from each other.
	var views [PageKeys]View
	var ordinals []uint32
	for i := range views {
		views[i] = p.view(i)
		n := 0
		for j := range views[i].Hi {
			o, ok := views[i].Ordinal(j)
			ordinals = append(ordinals, o)
			if ok {
				n++
			}
		}
		binary.LittleEndian.PutUint32(head[12+4*i:], uint32(n))
	}
	dst = slices.Grow(dst, len(ordinals)*postingBytes+sumBytes)
	total, at := 0, 0
	for _, v := range views {
		for j, hi := range v.Hi {
			if ordinals[at+j] != dead {
				dst = binary.LittleEndian.AppendUint32(dst, hi)
				total++
			}
		}
		at += len(v.Hi)
	}
	at = 0
	for _, v := range views {
		for j := range v.Hi {
			if ordinals[at+j] != dead {
				dst = binary.LittleEndian.AppendUint16(dst, v.Lo(j))
			}
		}
		at += len(v.Hi)
	}
	for _, o := range ordinals {
		if o != dead {
			dst = binary.LittleEndian.AppendUint32(dst, o)
		}
	}
	binary.LittleEndian.PutUint32(dst[start+8:], uint32(total))
	return binary.LittleEndian.AppendUint64(dst, xxh3.Hash(dst[start:]))
}

// Page is a decoded page. Its arrays lie in the bytes it was decoded from.
type Page struct {
	tag                      uint8
	number                   int
	counts, hi, lo, ordinals []byte
}

// DecodePage checks that b is one whole page with that tag and first key.
// Whatever b is, it returns a page whose postings can be read or an error that
// wraps ErrPage.
func DecodePage(b []byte, tag uint8, first uint16) (Page, error) {
	p, err := decodePage(b)
	if err == nil && (p.tag != tag || p.number*PageKeys != int(first)) {
		err = fmt.Errorf("%w: it is page %d/%d", ErrPage, p.tag, p.number*PageKeys)
	}
	return p, err
}

func decodePage(b []byte) (Page, error) {
	if len(b) < headerBytes+sumBytes {
		return Page{}, fmt.Errorf("%w: %d bytes", ErrPage, len(b))
	}
	if [3]byte(b) != magic {
		return Page{}, fmt.Errorf("%w: no page begins so", ErrPage)
	}
	if b[3] != Version {
		return Page{}, fmt.Errorf("%w: version %d, this is %d", ErrPage, b[3], Version)
	}
	end := len(b) - sumBytes
	if sum := xxh3.Hash(b[:end]); sum != binary.LittleEndian.Uint64(b[end:]) {
		return Page{}, fmt.Errorf("%w: checksum", ErrPage)
	}
	first := int(binary.LittleEndian.Uint16(b[6:]))
	n := int(binary.LittleEndian.Uint32(b[8:]))
	if first%PageKeys != 0 || b[5] != 0 || n > MaxPagePostings || len(b) != headerBytes+n*postingBytes+sumBytes {
		return Page{}, fmt.Errorf("%w: %d postings from key %d in %d bytes", ErrPage, n, first, len(b))
	}
	p := Page{tag: b[4], number: first / PageKeys, counts: b[12:headerBytes]}
	p.hi = b[headerBytes:][:4*n]
	p.lo = b[headerBytes+4*n:][:2*n]
	p.ordinals = b[headerBytes+6*n:][:4*n]
	sum := 0
	for i := range PageKeys {
		sum += int(binary.LittleEndian.Uint32(p.counts[4*i:]))
	}
	if sum != n {
		return Page{}, fmt.Errorf("%w: buckets of %d postings in all, not %d", ErrPage, sum, n)
	}
	for i := range n {
		if binary.LittleEndian.Uint32(p.ordinals[4*i:]) == dead {
			return Page{}, fmt.Errorf("%w: posting %d has the ordinal of a tombstone", ErrPage, i)
		}
	}
	return p, nil
}

// AppendTo adds the page's postings to a batch, bucket by bucket, in the order
// in which they were added to each.
func (p *Page) AppendTo(b *Batch) {
	at := 0
	for slot := range PageKeys {
		upper := uint64(p.number*PageKeys+slot) << 48
		for range int(binary.LittleEndian.Uint32(p.counts[4*slot:])) {
			hi := uint64(binary.LittleEndian.Uint32(p.hi[4*at:]))
			lo := uint64(binary.LittleEndian.Uint16(p.lo[2*at:]))
			b.Append(upper|hi<<16|lo, binary.LittleEndian.Uint32(p.ordinals[4*at:]))
			at++
		}
	}
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
