package resident

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"
)

// A page of columns is one chunk of rows without their outlines, compressed with
// zstd: of its 65,536 ordinals first the flags, a byte each; then how far the
// cluster is below the ordinal, modulo 2³²; then how much later the version arrived
// than the ordinal before; then how much later than that it was touched; varints,
// the last two as zigzag. Most of these are 0, and a page takes about 1 byte an
// ordinal. XXH3-64 of the compressed bytes ends it.

// ErrPage says that bytes are not a whole page of columns.
var ErrPage = errors.New("columns: not a whole page")

var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(4<<20))
)

// page encodes chunk n.
func (ch *chunk) page(n uint32) []byte {
	var columns [4][]byte
	for i := range columns {
		columns[i] = make([]byte, 0, 3*chunkRows/2)
	}
	before := int64(0)
	for i := range uint32(chunkRows) {
		r := &ch.rows[i]
		arrived := int64(atomic.LoadUint32(&r.arrived))
		columns[0] = append(columns[0], byte(atomic.LoadUint32(&r.flags)))
		columns[1] = binary.AppendUvarint(columns[1], uint64(n*chunkRows+i-atomic.LoadUint32(&r.cluster)))
		columns[2] = binary.AppendVarint(columns[2], arrived-before)
		columns[3] = binary.AppendVarint(columns[3], int64(atomic.LoadUint32(&r.touched))-arrived)
		before = arrived
	}
	runtime.KeepAlive(ch)
	out := encoder.EncodeAll(slices.Concat(columns[:]...), nil)
	return binary.LittleEndian.AppendUint64(out, xxh3.Hash(out))
}

// load decodes page n into rows that have grown far enough and that nothing reads
// yet.
func (r *Rows) load(n uint32, data []byte) error {
	end := len(data) - 8
	if end < 0 || binary.LittleEndian.Uint64(data[end:]) != xxh3.Hash(data[:end]) {
		return ErrPage
	}
	chunks := r.all()
	if int64(n) >= int64(len(chunks)) {
		return errors.New("columns: a page beyond the end")
	}
	raw, err := decoder.DecodeAll(data[:end], nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPage, err)
	}
	if len(raw) < chunkRows {
		return ErrPage
	}
	return chunks[n].decode(n, raw)
}

// decode reads the four columns side by side, so that each row is written once.
func (ch *chunk) decode(n uint32, raw []byte) error {
	flags, rest := raw[:chunkRows], raw[chunkRows:]
	below, rest := cutVarints(rest)
	later, rest := cutVarints(rest)
	after, rest := cutVarints(rest)
	at := uint32(0)
	for i := range uint32(chunkRows) {
		r := &ch.rows[i]
		var b, l, a uint64
		b, below = varint(below)
		l, later = varint(later)
		a, after = varint(after)
		at += unzigzag(l)
		*r = row{flags: uint32(flags[i]), cluster: n*chunkRows + i - uint32(b), arrived: at, touched: at + unzigzag(a)}
	}
	runtime.KeepAlive(ch)
	if below == nil || later == nil || after == nil || len(rest) > 0 {
		return ErrPage
	}
	return nil
}

// cutVarints cuts off as many varints as a column has; fewer are cut short.
func cutVarints(b []byte) (column, rest []byte) {
	left := chunkRows
	for i := range b {
		if left -= int(^b[i] >> 7); left == 0 {
			return b[: i+1 : i+1], b[i+1:]
		}
	}
	return b, nil
}

// varint takes a varint off b; the rest is nil once they were cut short.
func varint(b []byte) (v uint64, rest []byte) {
	if len(b) > 0 && b[0] < 0x80 { // nearly all
		return uint64(b[0]), b[1:]
	}
	return longVarint(b)
}

func longVarint(b []byte) (v uint64, rest []byte) {
	v, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil
	}
	return v, b[size:]
}

// unzigzag is modulo 2³², as times are.
func unzigzag(v uint64) uint32 { return uint32(v>>1) ^ -uint32(v&1) }
