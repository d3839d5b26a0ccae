// Package resident holds the rows of the catalogue that every look-up needs in
// memory: for each version its flags, its cluster, its times and the outline of its
// sketch, and for each cluster its lead.
//
// One writer at a time changes rows and clusters; any number of readers run
// beside it and never wait for long. A reader may see the rows of a batch that is
// still being committed.
package resident

import (
	"runtime"
	"sync"
	"sync/atomic"

	"jianguo/compare"
	"jianguo/index/verdict"
	"jianguo/internal/memory"
)

// chunkRows is how many ordinals share one block of memory.
const chunkRows = 1 << 16

// row is what look-ups ask of a version. The columns are read and written
// atomically once the row can be reached by readers.
type row [4]uint32

// The columns of a row.
const (
	flags = iota
	cluster
	arrived // seconds since 1970, of the version
	touched // seconds since 1970, of the last copy; at the founder's ordinal
)

// chunk holds the rows of chunkRows ordinals. Its memory is released some time
// after the chunk is unreachable, so that readers which are still running after
// the index was closed read valid memory. A function that holds a row keeps the
// chunk alive.
type chunk struct {
	rows []row

	grow     sync.Mutex // serialises the allocation of outlines
	outlines atomic.Pointer[[]compare.Outline]
}

// Rows keeps a row an ordinal. The zero value is empty.
type Rows struct {
	chunks atomic.Pointer[[]*chunk] // replaced by the writer when it grows
}

func (r *Rows) all() []*chunk {
	if p := r.chunks.Load(); p != nil {
		return *p
	}
	return nil
}

// at returns the row of an ordinal and its chunk, nil where there is none.
func (r *Rows) at(ordinal uint32) (*chunk, *row) {
	chunks := r.all()
	n := int(ordinal / chunkRows)
	if n >= len(chunks) {
		return nil, nil
	}
	return chunks[n], &chunks[n].rows[ordinal%chunkRows]
}

// grow makes room for an ordinal. Writer only.
func (r *Rows) grow(ordinal uint32) {
	have := r.all()
	n := int(ordinal/chunkRows) + 1
	if n <= len(have) {
		return
	}
	next := make([]*chunk, n)
	copy(next, have)
	for i := len(have); i < n; i++ {
		next[i] = new(chunk)
		next[i].rows = memory.SliceFor[row](next[i], chunkRows)
	}
	r.chunks.Store(&next)
}

// Bytes is the memory that all rows and outlines take.
func (r *Rows) Bytes() (n int64) {
	for _, ch := range r.all() {
		n += chunkRows * 16
		if ch.outlines.Load() != nil {
			n += chunkRows * 52
		}
	}
	return n
}

// load reads a column, 0 where there is no such row.
func (r *Rows) load(ordinal uint32, column int) (v uint32) {
	if ch, row := r.at(ordinal); ch != nil {
		v = atomic.LoadUint32(&row[column])
		runtime.KeepAlive(ch)
	}
	return v
}

// store writes a column of a row that exists. Writer only.
func (r *Rows) store(ordinal uint32, column int, v uint32) {
	ch, row := r.at(ordinal)
	atomic.StoreUint32(&row[column], v)
	runtime.KeepAlive(ch)
}

// Set fills the row of a new version, or clears it again. Writer only.
func (r *Rows) Set(ordinal uint32, f Flags, of, at uint32) {
	r.grow(ordinal)
	for column, v := range (row{flags: uint32(f), cluster: of, arrived: at, touched: at}) {
		r.store(ordinal, column, v)
	}
	r.ForgetOutline(ordinal)
}

// Flags returns the flags of a version, 0 where there is none.
func (r *Rows) Flags(ordinal uint32) Flags { return Flags(r.load(ordinal, flags)) }

// SetFlags replaces the flags of a version. Writer only.
func (r *Rows) SetFlags(ordinal uint32, f Flags) { r.store(ordinal, flags, uint32(f)) }

// Cluster returns the cluster that a version is a member of, merges not followed.
func (r *Rows) Cluster(ordinal uint32) uint32 { return r.load(ordinal, cluster) }

// SetCluster makes a version a member of a cluster. Writer only.
func (r *Rows) SetCluster(ordinal, id uint32) { r.store(ordinal, cluster, id) }

// Arrived returns when a version arrived, in seconds since 1970.
func (r *Rows) Arrived(ordinal uint32) uint32 { return r.load(ordinal, arrived) }

// Touched returns when the last copy of a cluster arrived, in seconds since 1970.
func (r *Rows) Touched(id uint32) uint32 { return r.load(id, touched) }

// Touch sets what Touched returns. Writer only.
func (r *Rows) Touch(id, at uint32) { r.store(id, touched, at) }

// SetOutline keeps the outline of a committed version that has none. One goroutine sets
// that of a version; it need not be the writer.
func (r *Rows) SetOutline(ordinal uint32, o *compare.Outline) {
	ch, _ := r.at(ordinal)
	into := &ch.outlined()[ordinal%chunkRows]
	into.Minima = o.Minima
	atomic.StoreUint32(&into.Shingles, o.Shingles) // last: readers check it first
	runtime.KeepAlive(ch)
}

// ForgetOutline makes the sketch of a version be read, until SetOutline is called again. Writer only.
func (r *Rows) ForgetOutline(ordinal uint32) {
	ch, _ := r.at(ordinal)
	if o := ch.outlines.Load(); o != nil {
		atomic.StoreUint32(&(*o)[ordinal%chunkRows].Shingles, 0)
	}
	runtime.KeepAlive(ch)
}

// outlined returns the outlines of a chunk, which the first caller allocates.
func (ch *chunk) outlined() []compare.Outline {
	if o := ch.outlines.Load(); o != nil {
		return *o
	}
	ch.grow.Lock()
	defer ch.grow.Unlock()
	if o := ch.outlines.Load(); o != nil {
		return *o
	}
	made := memory.SliceFor[compare.Outline](ch, chunkRows)
	ch.outlines.Store(&made)
	return made
}

// Outline returns the outline of a version. !ok: it is blank, or its outline is
// not there: it has not been read since the start, or is being committed.
func (r *Rows) Outline(ordinal uint32) (o compare.Outline, ok bool) {
	ch, _ := r.at(ordinal)
	if ch == nil {
		return o, false
	}
	if all := ch.outlines.Load(); all != nil {
		from := &(*all)[ordinal%chunkRows]
		if shingles := atomic.LoadUint32(&from.Shingles); shingles > 0 {
			o, ok = compare.Outline{Minima: from.Minima, Shingles: shingles}, true
		}
	}
	runtime.KeepAlive(ch)
	return o, ok
}

// Prefetch asks the processor for the row and the outline of a version that will
// soon be read.
func (r *Rows) Prefetch(ordinal uint32) {
	ch, row := r.at(ordinal)
	if ch == nil {
		return
	}
	memory.PrefetchValue(row)
	if o := ch.outlines.Load(); o != nil {
		memory.PrefetchValue(&(*o)[ordinal%chunkRows])
	}
}

// Flags are the state of a version. The low three bits are its verdict, the
// others are below. All but Swept are stored in the catalogue.
type Flags uint32

const (
	verdictBits Flags = 7

	Exemplar   Flags = 1 << 3 // it has postings: new items are compared with it
	Blocked    Flags = 1 << 4 // copies of it are rejected with rule `blocked`
	Superseded Flags = 1 << 5 // a later version of the same id exists
	Blank      Flags = 1 << 6 // it has neither fingerprint nor exact hash
	Swept      Flags = 1 << 7 // an exemplar whose postings were removed by the sweep

	// A snapshot has no bits for these: a start reads them from the catalogue.
	Exempt Flags = 1 << 8 // an editor said that its copies are no copies
	Aside  Flags = 1 << 9 // it has met too many suspects: there are no more of it
)

func (f Flags) Verdict() verdict.Verdict { return verdict.Verdict(f & verdictBits) }

func (f Flags) With(v verdict.Verdict) Flags { return f&^verdictBits | Flags(v) }

// Arrival is the state of a version that has just been judged.
func Arrival(v verdict.Verdict, blank bool) Flags {
	f := Flags(v)
	if blank {
		f |= Blank
	}
	if v.Accepted() && !blank {
		f |= Exemplar
	}
	return f
}
