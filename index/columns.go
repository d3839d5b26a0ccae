package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/zeebo/xxh3"

	"jianguo/index/prefetch"
)

// flags are what is resident of every version of an item, one byte. The low
// three bits are its verdict.
type flags uint32

const (
	flagVerdict    flags = 7
	flagExemplar   flags = 1 << 3 // it has postings: new items are compared with it
	flagBlocked    flags = 1 << 4 // copies of it are rejected with rule `blocked`
	flagSuperseded flags = 1 << 5 // a later version of the same id exists
	flagBlank      flags = 1 << 6 // it has neither fingerprint nor exact hash
	flagSwept      flags = 1 << 7 // an exemplar whose postings were removed; not stored in the catalogue
)

func (f flags) verdict() Verdict { return Verdict(f & flagVerdict) }

func (f flags) with(v Verdict) flags { return f&^flagVerdict | flags(v) }

// arrival is the state that a version's own items row implies, without any
// row in `current`.
func arrival(v Verdict, blank bool) flags {
	f := flags(v)
	if blank {
		f |= flagBlank
	}
	if v.Accepted() && !blank {
		f |= flagExemplar
	}
	return f
}

// columnChunk is how many ordinals share one allocation.
const columnChunk = 1 << 16

// columns keeps one row of numbers an ordinal: 16 bytes. The writer appends
// and changes, readers load; every cell is atomic, so that readers never wait.
// A reader may see an item of a batch that is being committed.
type columns struct {
	chunks atomic.Pointer[[]*chunk] // replaced by the writer when it grows
}

type chunk struct {
	flags   [columnChunk]atomic.Uint32
	cluster [columnChunk]atomic.Uint32
	arrived [columnChunk]atomic.Uint32 // seconds since 1970, of the version
	touched [columnChunk]atomic.Uint32 // seconds since 1970, of the last copy, at the founder's ordinal

	dirty atomic.Bool // changed since a snapshot took it
}

// chunkBytes is the size of a chunk in memory.
const chunkBytes = 4 * 4 * columnChunk

func (c *columns) at(ordinal uint32) (*chunk, int) {
	chunks := c.chunks.Load()
	n := int(ordinal / columnChunk)
	if chunks == nil || n >= len(*chunks) {
		return nil, 0
	}
	return (*chunks)[n], int(ordinal % columnChunk)
}

// all are the chunks there are.
func (c *columns) all() []*chunk {
	if p := c.chunks.Load(); p != nil {
		return *p
	}
	return nil
}

// grow makes room for ordinal. Writer only.
func (c *columns) grow(ordinal uint32) {
	have := c.all()
	n := int(ordinal/columnChunk) + 1
	if n <= len(have) {
		return
	}
	next := make([]*chunk, n)
	copy(next, have)
	for i := len(have); i < n; i++ {
		next[i] = new(chunk)
	}
	c.chunks.Store(&next)
}

func (c *columns) set(ordinal uint32, f flags, cluster, arrived uint32) {
	c.grow(ordinal)
	ch, i := c.at(ordinal)
	ch.flags[i].Store(uint32(f))
	ch.cluster[i].Store(cluster)
	ch.arrived[i].Store(arrived)
	ch.touched[i].Store(arrived)
	ch.dirty.Store(true)
}

// prefetch asks for a number of each column.
func (c *columns) prefetch(ordinal uint32) {
	if ch, i := c.at(ordinal); ch != nil {
		prefetch.Value(&ch.flags[i])
		prefetch.Value(&ch.cluster[i])
		prefetch.Value(&ch.arrived[i])
		prefetch.Value(&ch.touched[i])
	}
}

func (c *columns) flags(ordinal uint32) flags {
	if ch, i := c.at(ordinal); ch != nil {
		return flags(ch.flags[i].Load())
	}
	return 0
}

func (c *columns) setFlags(ordinal uint32, f flags) {
	ch, i := c.at(ordinal)
	ch.flags[i].Store(uint32(f))
	ch.dirty.Store(true)
}

func (c *columns) cluster(ordinal uint32) uint32 {
	if ch, i := c.at(ordinal); ch != nil {
		return ch.cluster[i].Load()
	}
	return 0
}

func (c *columns) setCluster(ordinal, cluster uint32) {
	ch, i := c.at(ordinal)
	ch.cluster[i].Store(cluster)
	ch.dirty.Store(true)
}

func (c *columns) arrived(ordinal uint32) uint32 {
	if ch, i := c.at(ordinal); ch != nil {
		return ch.arrived[i].Load()
	}
	return 0
}

func (c *columns) touched(cluster uint32) uint32 {
	if ch, i := c.at(cluster); ch != nil {
		return ch.touched[i].Load()
	}
	return 0
}

func (c *columns) touch(cluster, at uint32) {
	ch, i := c.at(cluster)
	ch.touched[i].Store(at)
	ch.dirty.Store(true)
}

// A page of columns is one chunk, compressed with zstd: of its 65,536
// ordinals first the flags, a byte each; then how far the cluster is below the
// ordinal, modulo 2³²; then how much later it arrived than the ordinal before;
// then how much later than that it was touched; varints, the last two as
// zigzag. Most of these are 0, and a page takes about 1 byte an ordinal. XXH3-64
// of the compressed bytes ends it.

// errColumns says that bytes are not a whole page of columns.
var errColumns = errors.New("columns: not a whole page")

// page encodes chunk n.
func (c *columns) page(n uint32) []byte {
	ch, _ := c.at(n * columnChunk)
	if ch == nil {
		ch = new(chunk)
	}
	raw := make([]byte, 0, 6*columnChunk)
	for i := range columnChunk {
		raw = append(raw, byte(ch.flags[i].Load()))
	}
	for i := range columnChunk {
		raw = binary.AppendUvarint(raw, uint64(n*columnChunk+uint32(i)-ch.cluster[i].Load()))
	}
	before := int64(0)
	for i := range columnChunk {
		at := int64(ch.arrived[i].Load())
		raw = binary.AppendVarint(raw, at-before)
		before = at
	}
	for i := range columnChunk {
		raw = binary.AppendVarint(raw, int64(ch.touched[i].Load())-int64(ch.arrived[i].Load()))
	}
	out := encoder.EncodeAll(raw, nil)
	return binary.LittleEndian.AppendUint64(out, xxh3.Hash(out))
}

// load decodes one chunk into columns that have grown far enough.
func (c *columns) load(n uint32, data []byte) error {
	end := len(data) - 8
	if end < 0 || binary.LittleEndian.Uint64(data[end:]) != xxh3.Hash(data[:end]) {
		return errColumns
	}
	if n > math.MaxUint32/columnChunk {
		return errors.New("columns: number out of range")
	}
	ch, _ := c.at(n * columnChunk)
	if ch == nil {
		return errors.New("columns: a page beyond the end")
	}
	raw, err := decoder.DecodeAll(data[:end], nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errColumns, err)
	}
	if len(raw) < columnChunk {
		return errColumns
	}
	// Nobody else knows these columns yet: plain stores do.
	cells := ch.cells()
	for i := range columnChunk {
		cells.flags[i] = uint32(raw[i])
	}
	r := columnReader{raw[columnChunk:]}
	for i := range columnChunk {
		cells.cluster[i] = n*columnChunk + uint32(i) - uint32(r.uvarint())
	}
	at := int64(0)
	for i := range columnChunk {
		at += r.varint()
		cells.arrived[i] = uint32(at)
	}
	for i := range columnChunk {
		cells.touched[i] = uint32(int64(cells.arrived[i]) + r.varint())
	}
	if r.rest == nil || len(r.rest) > 0 {
		return errColumns
	}
	return nil
}

// cells are a chunk that one goroutine has for itself. An atomic number is laid
// out as the number.
type cells struct{ flags, cluster, arrived, touched [columnChunk]uint32 }

func (ch *chunk) cells() *cells { return (*cells)(unsafe.Pointer(ch)) }

// columnReader reads varints; rest is nil once they were cut short.
type columnReader struct{ rest []byte }

func (r *columnReader) uvarint() uint64 {
	if len(r.rest) > 1 && r.rest[0] < 0x80 { // nearly all
		v := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(v)
	}
	v, size := binary.Uvarint(r.rest)
	r.skip(size)
	return v
}

func (r *columnReader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *columnReader) skip(size int) {
	if size <= 0 {
		r.rest = nil
		return
	}
	r.rest = r.rest[size:]
}
