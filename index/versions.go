package index

import (
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"jianguo/index/offheap"
	"jianguo/index/prefetch"
	"jianguo/sketch"
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

// row is what is asked of a version before any file is read, but for its outline.
type row struct {
	// state is the flags, and above them the number of shingles of the outline:
	// 0 where that is not there. So the number, which is written last, tells that
	// the minima are there.
	state   atomic.Uint32
	cluster atomic.Uint32
	arrived atomic.Uint32 // seconds since 1970, of the version
	touched atomic.Uint32 // seconds since 1970, of the last copy, at the founder's ordinal
}

// wideRow is a row with room for the outline's minima, all in one line of the
// processor's cache: proposals lie all over the memory, and to get there is most of
// what telling a stranger costs.
type wideRow struct {
	row
	minima sketch.Minima
}

const (
	rowBytes   = 1 << wide
	stateFlags = 1<<flagBits - 1
	flagBits   = 8
	// maxShingles is what an outline can have here: of a text with more there is
	// none, and it is judged by its sketch. The 512 KiB that ingest takes have a fifth
	// of it, if all of them are the character that unfolds to eighteen (U+FDFA).
	maxShingles = math.MaxUint32 >> flagBits
)

// width is how many bytes a row of a chunk takes, as a power of two.
type width uint8

const (
	// brief rows have no outline. A start makes these, which takes a quarter of the
	// memory, and they become wide when their outlines are read.
	brief width = 4
	wide  width = 6
)

var (
	_ = [1]struct{}{}[unsafe.Sizeof(row{})-1<<brief]
	_ = [1]struct{}{}[unsafe.Sizeof(wideRow{})-1<<wide]
)

// put replaces some bits of the state: the writer changes flags while the
// outlines of what was there at the start are still being read.
func (r *row) put(bits, value uint32) {
	for {
		was := r.state.Load()
		if r.state.CompareAndSwap(was, was&^bits|value) {
			return
		}
	}
}

// chunkRows is how many ordinals share one block.
const chunkRows = 1 << 16

// versions keeps a row an ordinal. The writer appends and changes, readers
// load; numbers are atomic, so that readers never wait. A reader may see an
// item of a batch that is being committed.
type versions struct {
	chunks atomic.Pointer[[]*chunk] // replaced by the writer when one comes or becomes wide
}

// chunk are the rows of chunkRows ordinals. They lie past the garbage collector,
// and go with the chunk: after Close, which somebody who is late may not have
// noticed, not before he is through. So whoever has a row holds its chunk.
type chunk struct {
	memory []byte
	width  width
	dirty  atomic.Bool // flags or numbers have changed since a snapshot took them
	swept  bool        // the page that it was loaded from called some of it swept
}

func newChunk(w width) *chunk {
	ch := &chunk{width: w}
	ch.memory = offheap.NewFor(ch, chunkRows<<w)
	return ch
}

// row is that of the chunk's ordinal i.
func (ch *chunk) row(i uint32) *row {
	return (*row)(unsafe.Pointer(&ch.memory[uintptr(i)<<ch.width]))
}

// plainRow is a row that one goroutine has for itself. An atomic number is laid
// out as the number.
type plainRow struct{ state, cluster, arrived, touched uint32 }

// plain is row of a chunk that nobody else knows yet: plain stores do.
func (ch *chunk) plain(i uint32) *plainRow { return (*plainRow)(unsafe.Pointer(ch.row(i))) }

// minima are those of a row of a wide chunk.
func (r *row) minima() *sketch.Minima { return &(*wideRow)(unsafe.Pointer(r)).minima }

// all are the chunks there are.
func (v *versions) all() []*chunk {
	if p := v.chunks.Load(); p != nil {
		return *p
	}
	return nil
}

// at is the row of an ordinal and its chunk, nil where there is none.
func (v *versions) at(ordinal uint32) (*chunk, *row) {
	chunks := v.chunks.Load()
	n := int(ordinal / chunkRows)
	if chunks == nil || n >= len(*chunks) {
		return nil, nil
	}
	ch := (*chunks)[n]
	return ch, ch.row(ordinal % chunkRows)
}

// grow makes room for ordinal, in rows of that width. Writer only.
func (v *versions) grow(ordinal uint32, w width) {
	have := v.all()
	n := int(ordinal/chunkRows) + 1
	if n <= len(have) {
		return
	}
	next := append(make([]*chunk, 0, n), have...)
	next = next[:n]
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0)) // a start makes many
	for i := len(have); i < n; i++ {
		g.Go(func() error { next[i] = newChunk(w); return nil })
	}
	_ = g.Wait() // none fails
	v.chunks.Store(&next)
}

// widen puts the rows of a brief chunk into one that has room for outlines. Writer
// only.
func (v *versions) widen(n int, into *chunk) {
	from := v.all()[n]
	for i := range uint32(chunkRows) {
		r := from.row(i)
		*into.plain(i) = plainRow{r.state.Load(), r.cluster.Load(), r.arrived.Load(), r.touched.Load()}
	}
	into.dirty.Store(from.dirty.Load())
	into.swept = from.swept
	next := slices.Clone(v.all())
	next[n] = into
	v.chunks.Store(&next)
}

// bytes is what all chunks take.
func (v *versions) bytes() (n int64) {
	for _, ch := range v.all() {
		n += int64(len(ch.memory))
	}
	return n
}

// set fills the row of a version that is new, or takes it back. It has no
// outline yet.
func (v *versions) set(ordinal uint32, f flags, cluster, arrived uint32) {
	v.grow(ordinal, wide)
	ch, r := v.at(ordinal)
	r.state.Store(uint32(f))
	r.cluster.Store(cluster)
	r.arrived.Store(arrived)
	r.touched.Store(arrived)
	ch.dirty.Store(true)
}

// prefetch asks for the row.
func (v *versions) prefetch(ordinal uint32) {
	if ch, r := v.at(ordinal); ch != nil {
		prefetch.Value(r)
	}
}

func (v *versions) flags(ordinal uint32) (f flags) {
	if ch, r := v.at(ordinal); ch != nil {
		f = flags(r.state.Load() & stateFlags)
		runtime.KeepAlive(ch)
	}
	return f
}

func (v *versions) setFlags(ordinal uint32, f flags) {
	ch, r := v.at(ordinal)
	r.put(stateFlags, uint32(f))
	ch.dirty.Store(true)
}

func (v *versions) cluster(ordinal uint32) (cluster uint32) {
	if ch, r := v.at(ordinal); ch != nil {
		cluster = r.cluster.Load()
		runtime.KeepAlive(ch)
	}
	return cluster
}

func (v *versions) setCluster(ordinal, cluster uint32) {
	ch, r := v.at(ordinal)
	r.cluster.Store(cluster)
	ch.dirty.Store(true)
}

func (v *versions) arrived(ordinal uint32) (at uint32) {
	if ch, r := v.at(ordinal); ch != nil {
		at = r.arrived.Load()
		runtime.KeepAlive(ch)
	}
	return at
}

func (v *versions) touched(cluster uint32) (at uint32) {
	if ch, r := v.at(cluster); ch != nil {
		at = r.touched.Load()
		runtime.KeepAlive(ch)
	}
	return at
}

func (v *versions) touch(cluster, at uint32) {
	ch, r := v.at(cluster)
	r.touched.Store(at)
	ch.dirty.Store(true)
}

// setOutline keeps the outline of a version that is committed, where there is room
// for it. Each ordinal's is set once, by one goroutine.
func (v *versions) setOutline(ordinal uint32, o *sketch.Outline) {
	ch, r := v.at(ordinal)
	if ch.width != wide || o.Shingles > maxShingles {
		return
	}
	*r.minima() = o.Minima
	r.put(^uint32(stateFlags), o.Shingles<<flagBits)
	runtime.KeepAlive(ch)
}

// overlap is what an outline says of that of a version; !ok: that is not there.
func (v *versions) overlap(o *sketch.Outline, ordinal uint32) (resemblance, inO, inV float32, ok bool) {
	ch, r := v.at(ordinal)
	if ch == nil {
		return 0, 0, 0, false
	}
	if shingles := r.state.Load() >> flagBits; shingles > 0 {
		resemblance, inO, inV = o.Overlap(r.minima(), shingles)
		ok = true
	}
	runtime.KeepAlive(ch)
	return resemblance, inO, inV, ok
}
