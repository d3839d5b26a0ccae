package index

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"jianguo/index/offheap"
	"jianguo/index/prefetch"
	"jianguo/sketch"
)

// Nine in ten proposals of a large index are strangers whose fingerprints lie
// near by chance, all over the catalogue: reading their sketches is most of what
// judging would cost. So the outline of every version stays in memory, 52 bytes,
// which tell a stranger exactly as its sketch would. Outlines are not in the
// snapshot (they stand in the rows, and do not compress). A start answers
// without them, as right and slower, and reads them in the background, the
// newest first.

// outlines are those of versions by ordinal. One that is not there has not been
// read yet, or belongs to a batch that is being committed. Once there it stays as
// it is: what a version is compared by changes at a start only.
type outlines struct {
	chunks atomic.Pointer[[]*outlineChunk] // replaced by the writer when it grows
}

// outlineChunk are the outlines of columnChunk ordinals, in a block of their own.
// The number of shingles is written last, and tells that the rest is there.
type outlineChunk struct {
	block offheap.Block
	rows  []sketch.Outline
}

const outlineBytes = int64(unsafe.Sizeof(sketch.Outline{}))

func (o *outlines) all() []*outlineChunk {
	if p := o.chunks.Load(); p != nil {
		return *p
	}
	return nil
}

// grow makes room for ordinal. Writer only.
func (o *outlines) grow(ordinal uint32) {
	have := o.all()
	n := int(ordinal/columnChunk) + 1
	if n <= len(have) {
		return
	}
	next := append(make([]*outlineChunk, 0, n), have...)
	for len(next) < n {
		b := offheap.NewLazy(int(columnChunk * outlineBytes))
		next = append(next, &outlineChunk{b, unsafe.Slice((*sketch.Outline)(unsafe.Pointer(unsafe.SliceData(b.Bytes))), columnChunk)})
	}
	o.chunks.Store(&next)
}

// add keeps the outlines of the versions before an ordinal, which have just been
// committed. Writer only.
func (o *outlines) add(before uint32, fresh []sketch.Outline) {
	o.grow(before)
	for i := range fresh {
		o.set(before-uint32(len(fresh)-i), &fresh[i])
	}
}

// set keeps the outline of a version that is committed, for which there is
// room. Each ordinal is set by one goroutine only.
func (o *outlines) set(ordinal uint32, from *sketch.Outline) {
	row := &o.all()[ordinal/columnChunk].rows[ordinal%columnChunk]
	row.Minima = from.Minima
	atomic.StoreUint32(&row.Shingles, from.Shingles)
}

// get is the outline of a version, nil where it is not there.
func (o *outlines) get(ordinal uint32) *sketch.Outline {
	chunks := o.all()
	n := int(ordinal / columnChunk)
	if n >= len(chunks) {
		return nil
	}
	row := &chunks[n].rows[ordinal%columnChunk]
	if atomic.LoadUint32(&row.Shingles) == 0 {
		return nil
	}
	return row
}

// prefetch asks for an outline.
func (o *outlines) prefetch(ordinal uint32) {
	chunks := o.all()
	if n := int(ordinal / columnChunk); n < len(chunks) {
		prefetch.Value(&chunks[n].rows[ordinal%columnChunk])
	}
}

// close gives the memory back.
func (o *outlines) close() {
	for _, c := range o.all() {
		c.block.Release()
	}
	o.chunks.Store(nil)
}

// outlinesStep is how many rows are read in one query: a long one would keep the
// log of the catalogue from being emptied. outlinesPause is what others get
// between two: one takes about twice as long.
const (
	outlinesStep  = 1 << 14
	outlinesPause = 10 * time.Millisecond
)

// readOutlines reads the outlines of the versions up to last.
func (x *Index) readOutlines(ctx context.Context, last uint32) error {
	query := `SELECT ordinal, sketch FROM ` + x.overlay.compared() + ` WHERE ordinal BETWEEN ? AND ?`
	for to := last; to > 0; to -= min(to, outlinesStep) {
		// The driver would watch a context that can end, row by row.
		err := each(context.WithoutCancel(ctx), x.reader, query, func(r *sql.Rows) error {
			var ordinal uint32
			var encoded sql.RawBytes
			if err := r.Scan(&ordinal, &encoded); err != nil || len(encoded) == 0 {
				return err // blank: it is met by nobody
			}
			o, err := sketch.DecodeOutline(encoded)
			if err != nil {
				return fmt.Errorf("sketch of ordinal %d: %w", ordinal, err)
			}
			x.outlines.set(ordinal, &o)
			return nil
		}, to-min(to, outlinesStep)+1, to)
		if err != nil {
			return err
		}
		x.metrics.outlines.Set(1 - float64(to-min(to, outlinesStep))/float64(last))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(outlinesPause):
		}
	}
	x.metrics.outlines.Set(1)
	return nil
}

// outlineInBackground reads the outlines of what was there at the start.
func (x *Index) outlineInBackground() {
	last := x.nextOrdinal - 1
	x.outlines.grow(last)
	x.outlined = make(chan struct{})
	x.background.Go(func() {
		defer close(x.outlined)
		if err := x.readOutlines(x.ending, last); err != nil && x.ending.Err() == nil {
			// Judging reads sketches where outlines are missing.
			x.log.ErrorContext(x.ending, "reading outlines of sketches", "error", err)
		}
	})
}

// stranger reports whether an exemplar is known to have so little in common
// with an article that its texts would not be looked at.
func (x *Index) stranger(a *sketch.Outline, ordinal uint32) bool {
	o := x.outlines.get(ordinal)
	if o == nil {
		return false
	}
	resemblance, inA, inO := a.Overlap(o)
	return x.policy.strange(resemblance, max(inA, inO))
}
