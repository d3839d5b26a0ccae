package exposure

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// KernelCost is the time the kernel takes for one candidate against all that a user
// with so many seen ids has, hashing of the id included: the best of a number of
// rounds, since whatever else the machine does only ever adds to it. Half of the
// candidates are among the seen. Ids have 14 characters.
func KernelCost(p Policy, seen, candidates int) (time.Duration, float64, error) {
	p, err := p.withDefaults()
	if err != nil {
		return 0, 0, err
	}
	var secret [32]byte
	seed := seedOf(&secret, "kernel")
	s := &state{}
	now := time.Now()
	id := func(i int) []byte { return fmt.Appendf(nil, "item-%09d", i) }
	for i := range seen {
		if err := s.see(&p, []uint32{keyOf(id(i), seed)}, now, now, nil); err != nil {
			return 0, 0, err
		}
	}
	var m message
	for i := range candidates {
		from := uint32(len(m.body))
		m.body = append(m.body, id(seen-candidates/2+i)...)
		m.spans = append(m.spans, span{from, uint32(len(m.body))})
	}
	m.marks = make([]byte, candidates)
	v := s.look(&p, now, viewHits, nil)
	best := time.Hour
	for range 2000 {
		start := time.Now()
		m.hash(seed)
		v.mark(m.keys, m.marks)
		best = min(best, time.Since(start))
	}
	return best, float64(best.Nanoseconds()) / float64(candidates), nil
}

// MeasuredRate fills every shard a policy reads to its capacity and returns the share
// of random keys that test positive in at least one of them, beside what the formula
// says.
func MeasuredRate(p Policy, users, tests int) (measured, theory float64, err error) {
	p, err = p.withDefaults()
	if err != nil {
		return 0, 0, err
	}
	hits := 0
	for range users {
		s := &state{last: time.Now().Unix()}
		now := time.Now()
		for epoch := p.oldestEpoch(now); len(s.shards) < p.slots(); epoch++ {
			for range p.Slots {
				i := s.open(&p, epoch)
				sh := &s.shards[i]
				for sh.count < sh.capacity {
					h := baseHashes(rand.Uint32())
					if addToShard(sh.words, newModulus(sh.m), uint64(sh.k), h) {
						sh.count++
					}
				}
			}
		}
		v := s.look(&p, now, viewHits, nil)
		keys, marks := make([]uint32, tests/users), make([]byte, tests/users)
		for i := range keys {
			keys[i] = rand.Uint32() | 1
		}
		_, in := v.mark(keys, marks)
		hits += in
		theory += theoreticalRate(s.shards) / float64(users)
	}
	return float64(hits) / float64(tests/users*users), theory, nil
}

// MixUser is the user with a number, and MixKeys how many ids he has seen: shares are
// dealt out by a multiplicative hash, so that neighbours in the file differ.
func MixUser(i int) string { return fmt.Sprintf("u%d", i) }

// MixKeys is how many ids the user with a number has seen.
func MixKeys(i int, mix []Share) int {
	x := float64(uint32(i)*0x9e3779b1) / (1 << 32)
	for _, s := range mix {
		if x -= s.Part; x < 0 {
			return s.Keys
		}
	}
	return mix[len(mix)-1].Keys
}
