// Package state is what is remembered of one user in one history: the changes that events make to it, what a filter
// tests keys against, and the bytes that are stored. It reads no files; a Fetcher does.
package state

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/bits-and-blooms/bloom/v3"

	"jianguo/exposure/kernel"
)

// RingSize is the number of delivered ids remembered exactly, and so the largest max of a request with mark.
const RingSize = 100

// RingTTL is how long they are remembered.
const RingTTL = 24 * time.Hour

// Shard is one Bloom filter of a user, over the little-endian bytes of keys. A full shard
// (count = capacity) is never written again.
type Shard struct {
	id       int64 // row; 0 until a flush assigns one
	epoch    int32 // Calendar: month; Rotate: 0
	capacity uint32
	count    uint32 // keys added that did not test positive already
	m        uint32
	k        uint8
	dirty    bool               // filter differs from the row
	filter   *bloom.BloomFilter // nil while only the head has been read
}

// ID is the number of the row; 0 until Snapshot has given one.
func (s *Shard) ID() int64 { return s.id }

func (s *Shard) bytes() int { return ShardBytes(s.m) }

func keyBytes(key uint32) []byte {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], key)
	return b[:]
}

// add adds a key. One that the filter holds already costs nothing, so a full shard has room
// for any number of repeats, and keeps the rate it was built for.
func (s *Shard) add(key uint32) {
	if !s.filter.TestOrAdd(keyBytes(key)) {
		s.count++
		s.dirty = true
	}
}

// delivered is one entry of the ring: a key and the unix minute of its delivery.
type delivered struct {
	key    uint32
	minute uint32
}

func (d delivered) at() time.Time { return time.Unix(int64(d.minute)*60, 0) }

// dated is one entry of the tail.
type dated struct {
	key uint32
	day Day
}

// View is what a filter tests keys against: built after a change of the state, not changed
// afterwards, and valid until something in it expires.
type View struct {
	kernel.View
	Until int64   // unix seconds
	Rate  float64 // of false positives, by formula
	Links Links
}

// Address is a user in a history.
type Address struct{ History, User string }

func (a Address) String() string { return a.History + "\x00" + a.User }

// State is everything remembered of one user in one history. It is plain data, owned by an
// entry and its lock. Time is always an argument, that of the event for a change and that of
// the clock for a read, so that a replay gives the same state.
type State struct {
	last      int64        // unix seconds of the newest exposure; 0 if there is none
	shards    []Shard      // by (epoch, creation): index is age, oldest first
	excepted  []uint32     // keys un-seen although a shard holds them, at most 64
	ring      []delivered  // oldest first, at most 100
	tail      []dated      // arrival order, oldest first
	freed     []int64      // rows to delete at the next flush
	Links     Links        // users whose histories count as well, and those for whom this one does
	Corrupt   string       // why the row this state replaces could not be read
	view      *View        // nil after Apply or Expire
	lanes     kernel.Lanes // of the shards; nil after one of them changed
	lanesFrom int32        // the oldest epoch that is in lanes
}

// Fetcher reads shard rows and fills in the filters.
type Fetcher func(shards []*Shard) error

// ErrExceptions is the answer to an un-see that would need more than 64 exceptions
// above a user's shards. Nothing of that un-see is applied, or, where it is several events, of the one refused.
var ErrExceptions = errors.New("exposure: more than 64 un-seen items are held by older shards")

func (s *State) Empty() bool {
	return len(s.shards)+len(s.ring)+len(s.tail)+len(s.Links.From)+len(s.Links.Into) == 0 && !s.Links.Imported
}

// CachedView is the last view that View has cached, or nil.
func (s *State) CachedView() *View { return s.view }

// Last is the time of the newest exposure in unix seconds, 0 if there is none.
func (s *State) Last() int64 { return s.last }

// Shards lists the shards, oldest first.
func (s *State) Shards() []Shard { return s.shards }

// Size is the memory of a cached state in bytes, close enough for a budget.
func (s *State) Size() int {
	n := 160 + 8*(len(s.ring)+cap(s.tail)) + 4*len(s.excepted) + 64*len(s.shards) + s.lanes.Bytes()
	for i := range s.shards {
		if s.shards[i].filter != nil {
			n += s.shards[i].bytes() + 48
		}
	}
	if s.view != nil {
		n += s.view.Set.Bytes()
	}
	return n
}

// Adopt converts shards of a policy of the other kind to policy p; nil: it only sorts them. Under a calendar, those
// without a month belong to that of the newest exposure.
func (s *State) Adopt(p *Policy, zone *time.Location) *State {
	for i := range s.shards {
		switch sh := &s.shards[i]; {
		case p == nil:
		case p.Kind == Rotate:
			sh.epoch = 0
		case sh.epoch == 0:
			sh.epoch = MonthOf(DayOf(time.Unix(s.last, 0).In(zone)))
		}
	}
	slices.SortStableFunc(s.shards, func(a, b Shard) int { return cmp.Compare(a.epoch, b.epoch) })
	return s
}

// reset forgets everything but links, and leaves the rows to be deleted.
func (s *State) reset() {
	freed := s.freed
	for i := range s.shards {
		if id := s.shards[i].id; id != 0 {
			freed = append(freed, id)
		}
	}
	*s = State{freed: freed, Corrupt: s.Corrupt, Links: Links{From: s.Links.From, Into: s.Links.Into}}
}

// touch drops what has expired by now, and records that the user was active at a time.
func (s *State) touch(p *Policy, at, now time.Time) {
	s.Expire(p, now)
	s.last = max(s.last, at.Unix())
}

// dropEpochs frees the months that are no longer read.
func (s *State) dropEpochs(p *Policy, now time.Time) {
	if p.Kind != Calendar {
		return
	}
	oldest := p.OldestEpoch(now)
	for len(s.shards) > 0 && s.shards[0].epoch < oldest {
		s.drop(0)
	}
	s.tail = slices.DeleteFunc(s.tail, func(d dated) bool { return MonthOf(d.day) < oldest })
}

func (s *State) drop(i int) {
	if id := s.shards[i].id; id != 0 {
		s.freed = append(s.freed, id)
	}
	s.shards = slices.Delete(s.shards, i, i+1)
	s.lanes = nil
}

// see adds keys to the history, newest last.
func (s *State) see(p *Policy, keys []uint32, at, now time.Time, fetch Fetcher) error {
	s.touch(p, at, now)
	for _, key := range keys {
		s.excepted = slices.DeleteFunc(s.excepted, func(k uint32) bool { return k == key })
		when := DayOf(at)
		if i := slices.IndexFunc(s.tail, func(t dated) bool { return t.key == key }); i >= 0 {
			when = max(when, s.tail[i].day) // seen again: it becomes the newest, with its newest day
			s.tail = slices.Delete(s.tail, i, i+1)
		}
		s.tail = append(s.tail, dated{key, when})
		if err := s.fold(p, fetch); err != nil {
			return err
		}
	}
	return nil
}

// deliver puts keys into the ring, newest last.
func (s *State) deliver(p *Policy, keys []uint32, at, now time.Time) {
	s.touch(p, at, now)
	for _, key := range keys {
		minute := uint32(at.Unix() / 60)
		if i := slices.IndexFunc(s.ring, func(d delivered) bool { return d.key == key }); i >= 0 {
			minute = max(minute, s.ring[i].minute)
			s.ring = slices.Delete(s.ring, i, i+1)
		}
		if len(s.ring) == RingSize {
			s.ring = slices.Delete(s.ring, 0, 1)
		}
		s.ring = append(s.ring, delivered{key, minute})
	}
}

// unsee removes keys: exactly from ring and tail, by an exception where a shard tests
// positive. It removes all keys or, with ErrExceptions or dryRun, none.
func (s *State) unsee(p *Policy, keys []uint32, now time.Time, fetch Fetcher, dryRun bool) error {
	s.dropEpochs(p, now)
	if err := s.Need(fetch); err != nil {
		return err
	}
	// An exception whose shard has been dropped is no longer needed.
	kept := slices.DeleteFunc(slices.Clone(s.excepted), func(k uint32) bool { return s.newestHolding(k) < 0 })
	for _, key := range keys {
		if s.newestHolding(key) >= 0 && !slices.Contains(kept, key) {
			kept = append(kept, key)
		}
	}
	if len(kept) > MaxExcepted {
		return ErrExceptions
	}
	if dryRun {
		return nil
	}
	s.excepted = kept
	s.tail = slices.DeleteFunc(s.tail, func(t dated) bool { return slices.Contains(keys, t.key) })
	s.ring = slices.DeleteFunc(s.ring, func(d delivered) bool { return slices.Contains(keys, d.key) })
	return nil
}

// newestHolding is the index of the newest shard that holds the key, or -1. Shards must be
// in memory.
func (s *State) newestHolding(key uint32) int {
	for i := len(s.shards) - 1; i >= 0; i-- {
		if s.shards[i].filter.Test(keyBytes(key)) {
			return i
		}
	}
	return -1
}

// Need makes sure that all shards are in memory.
func (s *State) Need(fetch Fetcher) error { return need(fetch, s.shards) }

func need(fetch Fetcher, shards []Shard) error {
	var missing []*Shard
	for i := range shards {
		if shards[i].filter == nil {
			missing = append(missing, &shards[i])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fetch(missing)
}

// fold moves the oldest part of a full tail into shards.
func (s *State) fold(p *Policy, fetch Fetcher) error {
	limit := p.Tail
	if len(s.shards) > 0 {
		limit /= 2
	}
	if len(s.tail) <= limit {
		return nil
	}
	n, at := len(s.tail)-p.Tail/4, 0
	for i, t := range s.tail[:n] {
		if i == 0 || t.day != s.tail[i-1].day || s.shards[at].count >= s.shards[at].capacity {
			at = s.open(p, p.EpochOf(t.day))
			if err := need(fetch, s.shards[at:at+1]); err != nil {
				return err
			}
		}
		s.shards[at].add(t.key)
	}
	s.tail = append(make([]dated, 0, p.Tail/2+1), s.tail[n:]...)
	s.lanes = nil
	return nil
}

// open is the index of the shard of an epoch that has room. If there is none it makes one,
// and drops the oldest of the epoch where all slots are taken. A new shard of the same size
// reuses the row, so that a file does not fragment as users rotate.
func (s *State) open(p *Policy, epoch int32) int {
	byEpoch := func(sh Shard, epoch int32) int { return cmp.Compare(sh.epoch, epoch) }
	first, _ := slices.BinarySearchFunc(s.shards, epoch, byEpoch)
	at, small, large := first, 0, false
	for ; at < len(s.shards) && s.shards[at].epoch == epoch; at++ {
		if int(s.shards[at].capacity) > p.Capacity {
			large = true
		} else {
			small++
		}
	}
	if at > first && s.shards[at-1].count < s.shards[at-1].capacity {
		return at - 1
	}
	capacity := p.nextCapacity(small, large)
	m, k := p.Geometry(capacity)
	fresh := Shard{epoch: epoch, capacity: uint32(capacity), m: m, k: k, dirty: true,
		filter: bloom.New(uint(m), uint(k))}
	for ; at-first >= p.Slots; at-- {
		if old := s.shards[first]; old.m == m && fresh.id == 0 {
			fresh.id, s.shards[first].id = old.id, 0
		}
		s.drop(first)
	}
	for len(s.shards) >= MaxShards { // a policy with more slots was in force before
		s.drop(0)
		at = max(at-1, 0)
	}
	s.shards = slices.Insert(s.shards, at, fresh)
	return at
}

// expired says whether all but the links has expired, or there is nothing else.
func (s *State) expired(p *Policy, now time.Time) bool {
	return s.last == 0 || p.Expired(time.Unix(s.last, 0).In(now.Location()), now)
}

// ended lists the users for whom the history no longer counts: it has expired, and so has all that its own links led
// to, each of which has ended before.
func (s *State) ended(p *Policy, now time.Time) (into []string) {
	if s.expired(p, now) && len(s.Links.From) == 0 {
		into = s.Links.Into
	}
	return into
}

// Stale says whether a state holds anything that has expired.
func (s *State) Stale(p *Policy, now time.Time) bool {
	return s.last != 0 && s.expired(p, now) || len(s.ended(p, now)) > 0 ||
		len(s.shards) > 0 && s.shards[0].epoch < p.OldestEpoch(now)
}

// Expire drops what has expired, and lists the users with whom links have ended.
func (s *State) Expire(p *Policy, now time.Time) (ended []string) {
	s.view, ended = nil, s.ended(p, now)
	if s.expired(p, now) {
		s.reset()
	}
	s.dropEpochs(p, now)
	return ended
}

// Snapshot is the image of one user that a flush writes.
type Snapshot struct {
	Head   []byte           // nil: the user is gone, delete the row
	Shards map[int64][]byte // that have changed, by number
	Freed  []int64
	// Corrupt says why the row this one replaces could not be read; the old bytes
	// are kept aside.
	Corrupt string
}

func (s *Snapshot) Size() int {
	n := len(s.Head)
	for _, data := range s.Shards {
		n += len(data)
	}
	return n
}

// Snapshot encodes a state and marks it clean. Shards without a row get the next number.
func (st *State) Snapshot(addr Address, number func() int64) *Snapshot {
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
			if snap.Shards == nil {
				snap.Shards = map[int64][]byte{}
			}
			snap.Shards[sh.id] = encodeShard(sh)
		}
	}
	if !st.Empty() {
		snap.Head = encodeHead(st, addr)
	}
	return snap
}
