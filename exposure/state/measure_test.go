package state

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bits-and-blooms/bloom/v3"

	"jianguo/exposure/wire"
	"jianguo/internal/testbed"
)

// TestRate: all shards full, the user's false positives stay within the budget, and
// are what the formula says.
func TestRate(t *testing.T) {
	for _, p := range []Policy{{}, {Slots: 3, Large: 10000, Small: 1}, {Kind: Calendar, Slots: 2, Large: -1}} {
		got, theory, err := measuredRate(p, 4, 2_000_000)
		testbed.OK(t, err)
		t.Logf("%s: %.5f %% measured, %.5f %% by formula", p, 100*got, 100*theory)
		// 2,000,000 tests of 0.08 % are 1,600 ± 40 hits: 25 % is far beyond chance.
		if got > 0.001 || got < 0.75*theory || got > 1.25*theory {
			t.Errorf("%s: %.5f %%, the formula says %.5f %%", p, 100*got, 100*theory)
		}
	}
}

// measuredRate fills every shard that a policy reads to its capacity, and returns the share
// of random keys that test positive in at least one of them, and what the formula predicts.
func measuredRate(p Policy, users, tests int) (measured, theory float64, err error) {
	p, err = p.WithDefaults()
	if err != nil {
		return 0, 0, err
	}
	hits, now := 0, time.Now()
	for range users {
		s := &State{last: now.Unix()}
		for epoch := p.OldestEpoch(now); len(s.shards) < p.Shards(); epoch++ {
			for range p.Slots {
				sh := &s.shards[s.open(&p, epoch)]
				for sh.count < sh.capacity {
					sh.add(rand.Uint32())
				}
			}
		}
		v := s.View(&p, now, cacheFrom)
		keys, marks := make([]uint32, tests/users), make([]byte, tests/users)
		for i := range keys {
			keys[i] = rand.Uint32() | 1
		}
		_, in := v.Mark(keys, marks)
		hits += in
		theory += theoreticalRate(s.shards) / float64(users)
	}
	return float64(hits) / float64(tests/users*users), theory, nil
}

// TestShardIsBloom: the filters of a state are those that bloom/v3 makes for the keys that
// were folded into them, bit for bit.
func TestShardIsBloom(t *testing.T) {
	p, _ := Policy{Slots: 3, Capacity: 200, Large: 500, Tail: 16}.WithDefaults()
	s, _ := benchState(t, &p, 900)
	var secret [32]byte
	seed, next := wire.Seed(&secret, "bench"), 0
	for i := range s.shards {
		sh := &s.shards[i]
		f := bloom.NewWithEstimates(uint(sh.capacity), p.ShardRate())
		for n := uint32(0); n < sh.count; next++ {
			if !f.TestOrAdd(binary.LittleEndian.AppendUint32(nil, wire.Key(benchID(next), seed))) {
				n++
			}
		}
		if !f.Equal(sh.filter) || f.Cap() != uint(sh.m) || f.K() != uint(sh.k) {
			t.Fatalf("shard %d: another filter than that of bloom/v3", i)
		}
	}
	if next < 800 {
		t.Fatalf("%d keys in shards", next)
	}
}

// benchState is a user with n seen ids.
func benchState(t testing.TB, p *Policy, n int) (*State, uint64) {
	t.Helper()
	var secret [32]byte
	seed := wire.Seed(&secret, "bench")
	s := &State{}
	for i := range n {
		testbed.OK(t, s.see(p, []uint32{wire.Key(benchID(i), seed)}, benchTime, benchTime, nil))
	}
	return s, seed
}

func benchID(i int) []byte { return fmt.Appendf(nil, "item-%09d", i) }

// BenchmarkSee is the cost of a key on its way into tail and shards, in one long report.
func BenchmarkSee(b *testing.B) {
	p, _ := Policy{Slots: 3, Large: 10000}.WithDefaults()
	keys := make([]uint32, 20000)
	for range b.N {
		for i := range keys {
			keys[i] = rand.Uint32() | 1
		}
		var s State
		if err := s.see(&p, keys, benchTime, benchTime, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20000, "ns/key")
}
