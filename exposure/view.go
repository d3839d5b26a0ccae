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
	groups   []group // the state's
}

// laneShards is the number of shards of one (m, k) from which transposing pays:
// below it, testing each by itself is as quick and a third of the memory.
const laneShards = 3

// laneHits is how often a user must have been asked for before lanes are built.
const laneHits = 2

// look prepares the state for the kernel at a time. hits is the number of requests
// it has served since it was loaded. All words must be in memory.
func (s *state) look(p *Policy, now time.Time, hits int) *view {
	if s.last == 0 || p.expired(time.Unix(s.last, 0).In(now.Location()), now) {
		return &view{until: math.MaxInt64, exact: newExactTable(0)}
	}
	unix := now.Unix()
	v := &view{until: p.nextBoundary(now).Unix(), excepted: slices.Clone(s.excepted)}
	if p.Kind == Rotate {
		v.until = min(v.until, s.last+int64(p.TTL/time.Second))
	}
	oldest := p.oldestEpoch(now)
	v.exact = newExactTable(len(s.tail) + len(s.ring))
	for _, t := range s.tail {
		if p.Kind == Rotate || monthOf(t.day) >= oldest {
			v.exact.add(t.key)
		}
	}
	for _, d := range s.ring {
		if end := int64(d.minute)*60 + int64(ringTTL/time.Second); end > unix {
			v.exact.add(d.key)
			v.until = min(v.until, end)
		}
	}
	if s.groups == nil {
		s.groups = groupShards(s.shards, oldest)
	}
	if hits >= laneHits {
		for i := range s.groups {
			if g := &s.groups[i]; g.lane == nil && len(g.words) >= laneShards {
				g.buildLane()
			}
		}
	}
	v.groups = slices.Clone(s.groups)
	if hits >= laneHits {
		s.view = v
	}
	return v
}

// groupShards collects the readable shards by (m, k), eight to a group.
func groupShards(shards []shard, oldest int32) []group {
	groups := []group{}
	for i := range shards {
		sh := &shards[i]
		if sh.epoch < oldest || sh.count == 0 {
			continue
		}
		j := slices.IndexFunc(groups, func(g group) bool {
			return g.mod.m == uint64(sh.m) && g.k == uint64(sh.k) && len(g.words) < 8
		})
		if j < 0 {
			j = len(groups)
			groups = append(groups, group{mod: newModulus(sh.m), k: uint64(sh.k)})
		}
		g := &groups[j]
		g.ranks[len(g.words)] = uint8(i)
		g.words = append(g.words, sh.words)
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
	var hits, more [batch]byte
	for len(keys) > 0 {
		part := keys[:min(len(keys), batch)]
		for i := range v.groups {
			if i == 0 {
				v.groups[i].testAll(part, &hits)
				continue
			}
			v.groups[i].testAll(part, &more)
			for j := range hits {
				hits[j] |= more[j]
			}
		}
		if len(v.excepted) > 0 {
			for j, key := range part {
				if hits[j] != 0 && slices.Contains(v.excepted, key) {
					hits[j] = 0
				}
			}
		}
		e, in := v.sortOut(part, &hits, marks[:len(part)])
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
