package index

import "sync/atomic"

// flags are what is resident of every version of an item, one byte. The low
// three bits are its verdict.
type flags uint32

const (
	flagVerdict    flags = 7
	flagExemplar   flags = 1 << 3 // it has postings: new items are compared with it
	flagBlocked    flags = 1 << 4 // copies of it are rejected with rule `blocked`
	flagSuperseded flags = 1 << 5 // a later version of the same id exists
	flagBlank      flags = 1 << 6 // it has neither fingerprint nor exact hash
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
}

func (c *columns) at(ordinal uint32) (*chunk, int) {
	chunks := c.chunks.Load()
	n := int(ordinal / columnChunk)
	if chunks == nil || n >= len(*chunks) {
		return nil, 0
	}
	return (*chunks)[n], int(ordinal % columnChunk)
}

// grow makes room for ordinal. Writer only.
func (c *columns) grow(ordinal uint32) {
	var have []*chunk
	if p := c.chunks.Load(); p != nil {
		have = *p
	}
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
}
