package resident

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"jianguo/index/bands/buckets"
)

// A page of columns is one chunk of rows without their outlines, compressed with zstd: of its
// 65,536 ordinals first the flags, a byte each; then three columns of little-endian numbers modulo
// 2³²: how far the cluster is below the ordinal; how much later the version arrived than the
// ordinal before; how much later than that it was touched. Most of these are 0.

const pageBytes = chunkRows * (1 + 3*4)

var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(pageBytes))
)

func (ch *chunk) page(n uint32) []byte {
	state := make([]byte, 0, pageBytes)
	var columns [3][]byte
	before := uint32(0)
	for i := range uint32(chunkRows) {
		r := &ch.rows[i]
		at := atomic.LoadUint32(&r[arrived])
		state = append(state, byte(atomic.LoadUint32(&r[flags])))
		below, later := n*chunkRows+i-atomic.LoadUint32(&r[cluster]), atomic.LoadUint32(&r[touched])-at
		for c, v := range [3]uint32{below, at - before, later} {
			columns[c] = binary.LittleEndian.AppendUint32(columns[c], v)
		}
		before = at
	}
	runtime.KeepAlive(ch)
	return encoder.EncodeAll(append(state, slices.Concat(columns[:]...)...), nil)
}

// LoadPage decodes a page into rows that have grown far enough and that nothing reads yet. The
// error wraps buckets.ErrPage.
func (r *Rows) LoadPage(number int, data []byte) error {
	chunks := r.all()
	if number < 0 || number >= len(chunks) {
		return fmt.Errorf("columns: page %d of %d: %w", number, len(chunks), buckets.ErrPage)
	}
	raw, err := decoder.DecodeAll(data, nil)
	if err != nil {
		return fmt.Errorf("columns: page %d: %w: %w", number, buckets.ErrPage, err)
	}
	if len(raw) != pageBytes {
		return fmt.Errorf("columns: page %d: %w: %d bytes", number, buckets.ErrPage, len(raw))
	}
	ch, n := chunks[number], uint32(number)
	state, columns := raw[:chunkRows], raw[chunkRows:]
	at := uint32(0)
	for i := range uint32(chunkRows) {
		column := func(c int) uint32 { return binary.LittleEndian.Uint32(columns[4*(c*chunkRows+int(i)):]) }
		at += column(1)
		ch.rows[i] = row{
			flags: uint32(state[i]), cluster: n*chunkRows + i - column(0), arrived: at, touched: at + column(2),
		}
	}
	runtime.KeepAlive(ch)
	return nil
}

// Snapshot calls emit with each page, in order.
func (r *Rows) Snapshot(emit func(number int, page []byte) error) error {
	for n, ch := range r.all() {
		if err := emit(n, ch.page(uint32(n))); err != nil {
			return err
		}
	}
	return nil
}
