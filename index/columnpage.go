package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/zeebo/xxh3"
)

// A page of columns is one chunk of versions without their outlines, compressed
// with zstd: of its 65,536 ordinals first the flags, a byte each; then how far the
// cluster is below the ordinal, modulo 2³²; then how much later it arrived than the
// ordinal before; then how much later than that it was touched; varints, the last
// two as zigzag. Most of these are 0, and a page takes about 1 byte an ordinal.
// XXH3-64 of the compressed bytes ends it.

// errColumns says that bytes are not a whole page of columns.
var errColumns = errors.New("columns: not a whole page")

// page encodes chunk n.
func (ch *chunk) page(n uint32) []byte {
	var columns [4][]byte
	for i := range columns {
		columns[i] = make([]byte, 0, 3*chunkRows/2)
	}
	before := int64(0)
	for i := range uint32(chunkRows) {
		r := ch.row(i)
		arrived := int64(r.arrived.Load())
		columns[0] = append(columns[0], byte(r.state.Load()&stateFlags))
		columns[1] = binary.AppendUvarint(columns[1], uint64(n*chunkRows+i-r.cluster.Load()))
		columns[2] = binary.AppendVarint(columns[2], arrived-before)
		columns[3] = binary.AppendVarint(columns[3], int64(r.touched.Load())-arrived)
		before = arrived
	}
	runtime.KeepAlive(ch)
	out := encoder.EncodeAll(slices.Concat(columns[:]...), nil)
	return binary.LittleEndian.AppendUint64(out, xxh3.Hash(out))
}

// load decodes one chunk into versions that have grown far enough.
func (v *versions) load(n uint32, data []byte) error {
	end := len(data) - 8
	if end < 0 || binary.LittleEndian.Uint64(data[end:]) != xxh3.Hash(data[:end]) {
		return errColumns
	}
	if n > math.MaxUint32/chunkRows {
		return errors.New("columns: number out of range")
	}
	ch, _ := v.at(n * chunkRows)
	if ch == nil {
		return errors.New("columns: a page beyond the end")
	}
	raw, err := decoder.DecodeAll(data[:end], nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errColumns, err)
	}
	if len(raw) < chunkRows {
		return errColumns
	}
	return ch.decode(n, raw)
}

// decode takes the columns row by row: a row is a line of the cache.
func (ch *chunk) decode(n uint32, raw []byte) error {
	verdicts, rest := raw[:chunkRows], raw[chunkRows:]
	below, rest := cutVarints(rest)
	later, rest := cutVarints(rest)
	after, rest := cutVarints(rest)
	at, all := uint32(0), byte(0)
	for i := range uint32(chunkRows) {
		r := ch.plain(i)
		var b, l, a uint64
		b, below = varint(below)
		l, later = varint(later)
		a, after = varint(after)
		at += unzigzag(l)
		r.state = uint32(verdicts[i])
		all |= verdicts[i]
		r.cluster = n*chunkRows + i - uint32(b)
		r.arrived = at
		r.touched = at + unzigzag(a)
	}
	runtime.KeepAlive(ch)
	ch.swept = flags(all)&flagSwept != 0
	if below == nil || later == nil || after == nil || len(rest) > 0 {
		return errColumns
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
