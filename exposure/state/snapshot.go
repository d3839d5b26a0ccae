package state

// Snapshot is the image of one user that a flush writes.
type Snapshot struct {
	Head   []byte // nil: the user is gone, delete the row
	Shards []ShardImage
	Freed  []int64
	// Corrupt says why the row this one replaces could not be read; the old bytes
	// are kept aside.
	Corrupt string
}

type ShardImage struct {
	ID   int64
	Data []byte
}

// Snapshot encodes a state and marks it clean. Shards without a row get the next number.
func (st *State) Snapshot(addr string, number func() int64) *Snapshot {
	snap := &Snapshot{Freed: st.freed, Corrupt: st.Corrupt}
	st.freed, st.Corrupt = nil, ""
	for i := range st.shards {
		sh := &st.shards[i]
		if sh.id == 0 {
			sh.id = number()
			sh.dirty = true
		}
		if sh.dirty {
			sh.dirty = false
			snap.Shards = append(snap.Shards, ShardImage{sh.id, appendShard(nil, sh)})
		}
	}
	if !st.Empty() {
		snap.Head = appendHead(make([]byte, 0, 64+4*len(st.tail)+6*len(st.ring)+16*len(st.shards)), st, addr)
	}
	return snap
}
