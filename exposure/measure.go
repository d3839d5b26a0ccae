package exposure

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Kernel is the innermost part of a request, ready to be run over and over: the ids of
// some candidates are hashed and looked for in all that a user has seen.
type Kernel struct {
	m    message
	v    *view
	seed uint64
}

// NewKernel gives a user so many seen ids and as many candidates as told, half of
// which are among the seen. Ids have 14 characters.
func NewKernel(p Policy, seen, candidates int) (*Kernel, error) {
	p, err := p.withDefaults()
	if err != nil {
		return nil, err
	}
	var secret [32]byte
	k := &Kernel{seed: seedOf(&secret, "kernel")}
	s := &state{}
	now := time.Now()
	id := func(i int) []byte { return fmt.Appendf(nil, "item-%09d", i) }
	for i := range seen {
		if err := s.see(&p, []uint32{keyOf(id(i), k.seed)}, now, now, nil); err != nil {
			return nil, err
		}
	}
	for i := range candidates {
		from := uint32(len(k.m.body))
		k.m.body = append(k.m.body, id(seen-candidates/2+i)...)
		k.m.spans = append(k.m.spans, span{from, uint32(len(k.m.body))})
	}
	k.m.marks = make([]byte, candidates)
	k.v = s.look(&p, now, viewHits, nil)
	k.Run()
	return k, nil
}

// Run does it once. It allocates nothing and waits for nothing.
func (k *Kernel) Run() {
	k.m.hash(k.seed)
	k.v.mark(k.m.keys, k.m.marks)
}

// KernelCost is the time a Kernel takes, and nanoseconds a candidate: the best of a
// number of rounds, since whatever else the machine does only ever adds to it.
func KernelCost(p Policy, seen, candidates int) (time.Duration, float64, error) {
	k, err := NewKernel(p, seen, candidates)
	if err != nil {
		return 0, 0, err
	}
	best := time.Hour
	for range 2000 {
		start := time.Now()
		k.Run()
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
