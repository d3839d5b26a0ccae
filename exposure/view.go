package exposure

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// view is what the kernel reads of a state: built once after a change, immutable,
// and valid until something in it expires.
type view struct {
	until    int64 // unix seconds
	exact    exactTable
	excepted []uint32
	groups   []group
}

// viewHits is how often a user must have been asked for before a view is kept.
const viewHits = 2

// look prepares the state for the kernel at a time. hits is the number of requests
// it has served since it was loaded: with the first few the view is made in room's
// memory, whose owner may use it until the state changes or room is used again. All
// words must be in memory.
func (s *state) look(p *Policy, now time.Time, hits int, room *viewRoom) *view {
	keep := hits >= viewHits
	v := new(view)
	if !keep {
		v = &room.view
	}
	v.until, v.excepted, v.groups = math.MaxInt64, nil, nil
	if s.last == 0 || p.expired(time.Unix(s.last, 0).In(now.Location()), now) {
		v.exact.reset(0)
		return v
	}
	v.until = p.nextBoundary(now).Unix()
	if p.Kind == Rotate {
		v.until = min(v.until, s.last+int64(p.TTL/time.Second))
	}
	s.lookExact(v, p, now)
	v.excepted = slices.Clone(s.excepted)
	switch oldest := p.oldestEpoch(now); {
	case s.groups != nil && s.grouped == oldest:
		v.groups = s.groups
	case keep:
		s.groups, s.grouped = groupShards(s.shards, oldest, []group{}), oldest
		for i := range s.groups {
			s.groups[i].buildLane(make([]uint32, s.groups[i].length()))
		}
		v.groups = s.groups
	default:
		room.look(s.shards, oldest)
	}
	if keep {
		s.view = v
	}
	return v
}

// lookExact puts what tail and ring hold at a time into the view.
func (s *state) lookExact(v *view, p *Policy, now time.Time) {
	oldest := p.oldestEpoch(now)
	v.exact.reset(len(s.tail) + len(s.ring))
	for _, t := range s.tail {
		if p.Kind == Rotate || monthOf(t.day) >= oldest {
			v.exact.add(t.key)
		}
	}
	for _, d := range s.ring {
		if end := int64(d.minute)*60 + int64(ringTTL/time.Second); end > now.Unix() {
			v.exact.add(d.key)
			v.until = min(v.until, end)
		}
	}
}

// viewRoom is memory for a view that nobody keeps.
type viewRoom struct {
	view   view
	groups []group
	cells  []uint32
}

// keepCells is how many cells of lanes stay in memory for the next one.
const keepCells = 1 << 18

// look makes the groups of the view.
func (r *viewRoom) look(shards []shard, oldest int32) {
	clear(r.groups) // what they pointed to may go
	r.groups = groupShards(shards, oldest, r.groups[:0])
	r.view.groups = r.groups
	total := 0
	for i := range r.groups {
		total += r.groups[i].length()
	}
	cells := r.cells
	if cap(cells) < total {
		cells = make([]uint32, total)
	}
	if total <= keepCells {
		r.cells = cells
	}
	cells = cells[:cap(cells)]
	for i := range r.groups {
		n := r.groups[i].length()
		r.groups[i].buildLane(cells[:n:n])
		cells = cells[n:]
	}
}

// groupShards appends the readable shards by (m, k), eight to a group. The lanes remain
// to be built.
func groupShards(shards []shard, oldest int32, groups []group) []group {
	for i := range shards {
		sh := &shards[i]
		if sh.epoch < oldest || sh.count == 0 {
			continue
		}
		j := slices.IndexFunc(groups, func(g group) bool {
			return g.mod.m == uint64(sh.m) && g.k == uint64(sh.k) && g.n < 8
		})
		if j < 0 {
			j = len(groups)
			groups = append(groups, newGroup(sh.m, sh.k))
		}
		groups[j].add(i, sh.words)
	}
	return groups
}

// Marks of the kernel, one a candidate.
const (
	unseen   = 0
	inExact  = 1
	inShards = 2
)

// mark writes for each key where it was found, and returns the counts.
func (v *view) mark(keys []uint32, marks []byte) (exact, shards int) {
	w := works.Get().(*work)
	defer works.Put(w)
	for len(keys) > 0 {
		part := keys[:min(len(keys), batch)]
		clear(w.hits[:])
		if len(v.groups) > 0 {
			w.hashVector(part)
		}
		for i := range v.groups {
			v.groups[i].testAll(part, w)
		}
		if len(v.excepted) > 0 {
			for j, key := range part {
				if w.hits[j] != 0 && slices.Contains(v.excepted, key) {
					w.hits[j] = 0
				}
			}
		}
		e, in := v.sortOut(part, &w.hits, marks[:len(part)])
		exact, shards = exact+e, shards+in
		keys, marks = keys[len(part):], marks[len(part):]
	}
	return exact, shards
}

// sortOut writes the marks of up to a batch of keys, of which shards hold those with a
// hit, and returns the counts.
func (v *view) sortOut(part []uint32, hits *[batch]byte, out []byte) (exact, shards int) {
	var may [batch / 64]uint64
	n, shards := v.exact.sortOutVector(part, hits, out, &may)
	for i, x := range may[:n/64] {
		for ; x != 0; x &= x - 1 {
			if j := i*64 + bits.TrailingZeros64(x); v.exact.has(part[j]) {
				shards -= int(out[j] / inShards)
				out[j] = inExact
				exact++
			}
		}
	}
	for j := n; j < len(part); j++ {
		key := part[j]
		in := (hits[j] | -hits[j]) >> 7 // 1 where there is a hit
		out[j] = inShards * in
		shards += int(in)
		if v.exact.may(key) && v.exact.has(key) {
			out[j] = inExact
			shards -= int(in)
			exact++
		}
	}
	return exact, shards
}

// rank is the age of the newest shard that holds the key: 0 is the oldest.
func (v *view) rank(key uint32) uint8 {
	h := baseHashes(key)
	var newest uint8
	for i := range v.groups {
		hit := v.groups[i].test(h)
		for b := 0; hit != 0; b, hit = b+1, hit>>1 {
			if hit&1 != 0 {
				newest = max(newest, v.groups[i].ranks[b])
			}
		}
	}
	return newest
}
