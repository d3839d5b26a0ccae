package kernel

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bits-and-blooms/bloom/v3"
	"pgregory.net/rapid"
)

func keyBytes(key uint32) []byte { return binary.LittleEndian.AppendUint32(nil, key) }

func newView(l Lanes, exact ...uint32) *View {
	v := &View{Lanes: l}
	v.Set.Reset(len(exact))
	for _, key := range exact {
		v.Set.Add(key)
	}
	return v
}

// TestMarkIsBloom holds Mark and Rank to bloom/v3's own Test, over any number of shards of
// any size, with exact keys and exceptions.
func TestMarkIsBloom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var shards []*bloom.BloomFilter
		for range rapid.IntRange(0, 20).Draw(t, "shards") {
			if rng.IntN(8) == 0 {
				shards = append(shards, nil)
				continue
			}
			capacity := rapid.SampledFrom([]uint{100, 300}).Draw(t, "capacity")
			f := bloom.NewWithEstimates(capacity, rapid.SampledFrom([]float64{0.0004, 0.00016, 0.00007}).Draw(t, "rate"))
			for range rng.IntN(int(capacity) + 1) {
				f.Add(keyBytes(rng.Uint32N(5000)))
			}
			shards = append(shards, f)
		}
		v := newView(NewLanes(shards), 17, 4711)
		v.Excepted = []uint32{4, 44}
		for key := uint32(1); key < 6000; key += 1 + rng.Uint32N(20) {
			newest := -1
			for i, f := range shards {
				if f != nil && f.Test(keyBytes(key)) {
					newest = i
				}
			}
			want := byte(Unseen)
			switch {
			case key == 17 || key == 4711:
				want = Exact
			case newest >= 0 && key != 4 && key != 44:
				want = InShard
			}
			var mark [1]byte
			if v.Mark([]uint32{key}, mark[:]); mark[0] != want {
				t.Fatalf("key %d: mark %d, want %d", key, mark[0], want)
			}
			if got := v.Lanes.Rank(key); got != newest {
				t.Fatalf("key %d: rank %d, newest shard is %d", key, got, newest)
			}
		}
	})
}

func TestReduce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.Uint64Range(64, 1<<28).Draw(t, "m")
		d := newModulus(m)
		for _, x := range []uint64{rapid.Uint64().Draw(t, "x"), 0, ^uint64(0), m, m - 1, m * 77} {
			if got := d.reduce(x); got != x%m {
				t.Fatalf("%d mod %d: got %d", x, m, got)
			}
		}
	})
}

func TestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.Uint32Range(1, 300)).Draw(t, "keys")
		var set Set
		set.Reset(len(keys))
		in := map[uint32]bool{}
		for _, k := range keys {
			set.Add(k)
			in[k] = true
		}
		for k := uint32(1); k <= 300; k++ {
			if set.Has(k) != in[k] {
				t.Fatalf("key %d: %v, want %v", k, set.Has(k), in[k])
			}
		}
	})
}

// BenchmarkMark is the cost of a key: half of 5,000 keys are in five shards of 1,000, or in
// three of which two have 10,000. With "new", the lanes are built first.
func BenchmarkMark(b *testing.B) {
	for _, c := range []struct {
		name  string
		sizes []uint
	}{{"5x1000", []uint{1000, 1000, 1000, 1000, 1000}}, {"1000+2x10000", []uint{1000, 10000, 10000}}} {
		var shards []*bloom.BloomFilter
		keys := make([]uint32, 5000)
		for i := range keys {
			keys[i] = rand.Uint32() | 1
		}
		next := uint(0)
		for _, n := range c.sizes {
			f := bloom.NewWithEstimates(n, 0.8*0.001/float64(len(c.sizes)))
			for range n {
				if f.Add(keyBytes(keys[next%2500])); next < 2500 {
					next++
				} else {
					f.Add(keyBytes(rand.Uint32()))
				}
			}
			shards = append(shards, f)
		}
		for _, fresh := range []bool{false, true} {
			b.Run(c.name+map[bool]string{true: "/new", false: "/kept"}[fresh], func(b *testing.B) {
				v, marks, best := newView(NewLanes(shards)), make([]byte, len(keys)), time.Hour
				for range b.N {
					start := time.Now()
					if fresh {
						v.Lanes = NewLanes(shards)
					}
					v.Mark(keys, marks)
					best = min(best, time.Since(start))
				}
				b.ReportMetric(float64(best.Nanoseconds())/5000, "best-ns/key")
			})
		}
	}
}
