package filterbench

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/bits-and-blooms/bloom/v3"

	"jianguo/exposure"
	"jianguo/exposure/kernel"
	"jianguo/exposure/wire"
)

// innermost is the innermost part of a request, ready to be repeated: the ids of some
// candidates are hashed and tested against all that a user has seen.
type innermost struct {
	query wire.Query
	view  kernel.View
	keys  []uint32
	marks []byte
}

// newInnermost makes a user with so many seen ids under the default policy, the newest of
// them in the tail, and so many candidates, half of which are among the seen. Ids have 14
// characters.
func newInnermost(seen, candidates int) (*innermost, error) {
	p, err := exposure.ParsePolicy("rotate")
	if err != nil {
		return nil, err
	}
	k := &innermost{marks: make([]byte, candidates)}
	body := []byte(`{"items":[`)
	for i := range candidates {
		body = fmt.Appendf(body, `"item-%09d",`, seen-candidates/2+i)
	}
	if err := k.query.Decode(append(body[:len(body)-1], "]}"...)); err != nil {
		return nil, err
	}
	var shards []*bloom.BloomFilter
	k.view.Set.Reset(p.Tail)
	for i := range seen {
		key := wire.Key(fmt.Appendf(nil, "item-%09d", i), seed)
		if i >= seen-p.Tail/4 {
			k.view.Set.Add(key)
			continue
		}
		if i%p.Capacity == 0 {
			shards = append(shards, bloom.NewWithEstimates(uint(p.Capacity), p.ShardRate()))
		}
		shards[len(shards)-1].Add(binary.LittleEndian.AppendUint32(nil, key))
	}
	k.view.Lanes = kernel.NewLanes(shards)
	k.run()
	return k, nil
}

const seed = 0x6a69616e67756f

// run does it once. It allocates nothing and waits for nothing.
func (k *innermost) run() {
	k.keys = k.query.Keys(k.keys, seed)
	k.view.Mark(k.keys, k.marks)
}

// kernelCost is nanoseconds a candidate: the best of a number of rounds, since other work
// on the machine only ever adds to it.
func kernelCost(seen, candidates int) (float64, error) {
	k, err := newInnermost(seen, candidates)
	if err != nil {
		return 0, err
	}
	best := time.Hour
	for range 2000 {
		start := time.Now()
		k.run()
		best = min(best, time.Since(start))
	}
	return float64(best.Nanoseconds()) / float64(candidates), nil
}

// measuredRate fills all shards of the default policy to their capacity, and returns the
// share of random keys that test positive in at least one of them, and what the formula
// predicts.
func measuredRate(users, tests int) (measured, theory float64, err error) {
	p, err := exposure.ParsePolicy("rotate")
	if err != nil {
		return 0, 0, err
	}
	hits := 0
	for range users {
		var shards []*bloom.BloomFilter
		for range p.Slots {
			f := bloom.NewWithEstimates(uint(p.Capacity), p.ShardRate())
			for n := 0; n < p.Capacity; {
				if !f.TestOrAdd(binary.LittleEndian.AppendUint32(nil, rand.Uint32())) {
					n++
				}
			}
			shards = append(shards, f)
		}
		v := kernel.View{Lanes: kernel.NewLanes(shards)}
		v.Set.Reset(0)
		keys, marks := make([]uint32, tests/users), make([]byte, tests/users)
		for i := range keys {
			keys[i] = rand.Uint32() | 1
		}
		_, in := v.Mark(keys, marks)
		hits += in
		k := float64(shards[0].K())
		fill := 1 - math.Exp(-k*float64(p.Capacity)/float64(shards[0].Cap()))
		theory = 1 - math.Pow(1-math.Pow(fill, k), float64(p.Slots))
	}
	return float64(hits) / float64(tests/users*users), theory, nil
}
