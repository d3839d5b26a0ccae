package buckets

import (
	"math/rand/v2"
	"sync/atomic"

	"jianguo/internal/memory"
)

// readerShards spreads the readers' counters over cache lines, so that cores which pin
// at the same time do not contend for one.
const readerShards = 32

// Memory is where the blocks of one or more tables live (package memory).
//
// A block that a rebuild replaced is released when every look-up that may
// still read it has ended (epoch-based reclamation, Fraser 2004). Look-ups
// begin with Pin and end with Unpin, and never wait. The zero Memory is ready to use.
type Memory struct {
	epoch   atomic.Uint64
	readers [2][readerShards]counter // by the parity of the epoch they began in

	bytes   atomic.Int64 // of all blocks held, retired ones included
	retired [2][]block   // by the parity of the epoch; owned by the writer
}

type counter struct {
	n atomic.Int64
	_ [56]byte // a cache line each
}

// block is memory of one page.
type block = memory.Block

// Pin is a look-up in progress.
type Pin struct{ slot *counter }

// Pin keeps every block alive that can be reached from now on until Unpin.
// Look-ups should be short: blocks that are replaced meanwhile accumulate.
func (m *Memory) Pin() Pin {
	shard := rand.Uint32() % readerShards
	for {
		e := m.epoch.Load()
		slot := &m.readers[e&1][shard]
		slot.n.Add(1)
		if m.epoch.Load() == e {
			return Pin{slot}
		}
		// The epoch moved on between the two: the writer may not have seen
		// the count.
		slot.n.Add(-1)
	}
}

// Unpin ends the look-up.
func (p Pin) Unpin() { p.slot.n.Add(-1) }

// Bytes is the size of all blocks, those waiting for look-ups to end included.
func (m *Memory) Bytes() int64 { return m.bytes.Load() }

// retire releases b once no look-up can read it. Writer only; b must be
// unreachable for look-ups that begin now.
func (m *Memory) retire(b block) {
	e := m.epoch.Load()
	m.retired[e&1] = append(m.retired[e&1], b)
	// Only look-ups that pinned an epoch before e can read what is in the other
	// list. Once they have ended it is released, and a new epoch begins.
	last := &m.readers[(e+1)&1]
	for i := range last {
		if last[i].n.Load() != 0 {
			return
		}
	}
	m.free(int(e+1) & 1)
	m.epoch.Store(e + 1)
}

func (m *Memory) free(parity int) {
	for i, b := range m.retired[parity] {
		m.release(b)
		m.retired[parity][i] = block{}
	}
	m.retired[parity] = m.retired[parity][:0]
}

// release frees a block that nothing can read.
func (m *Memory) release(b block) {
	if b.Bytes != nil {
		m.bytes.Add(-int64(len(b.Bytes)))
		b.Release()
	}
}
