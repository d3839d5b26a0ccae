package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bits-and-blooms/bloom/v3"
)

// FuzzMark holds both ways of testing keys, in assembly and in plain Go, to bloom/v3 key by
// key and to each other.
func FuzzMark(f *testing.F) {
	f.Add(uint64(1), uint32(18192), uint8(13), uint8(5), uint16(300))
	f.Add(uint64(2), uint32(64), uint8(4), uint8(1), uint16(1))
	f.Add(uint64(3), uint32(1<<19), uint8(20), uint8(8), uint16(256))
	f.Add(uint64(4), uint32(1<<19+1), uint8(21), uint8(9), uint16(513))
	f.Fuzz(func(t *testing.T, seed uint64, m uint32, k, shards uint8, n uint16) {
		checkMark(t, rand.New(rand.NewPCG(seed, 1)), 64+m%(1<<20), 4+k%24, 1+shards%20, 1+n%600)
	})
}

// TestVectorIsPlain is FuzzMark for every k, for sizes near the smallest and the largest
// that the assembly handles, and for far larger ones.
func TestVectorIsPlain(t *testing.T) {
	sizes := []uint32{64, 65, 1000, 8191, 8192, 8193, 17129, 18192, 65536, 171287, 1<<19 - 1, 1 << 19, 1<<19 + 1, 1<<20 - 1, 1 << 24}
	for round := range 200 {
		rng := rand.New(rand.NewPCG(uint64(round), 2))
		checkMark(t, rng, sizes[round%len(sizes)], uint8(4+rng.IntN(21)), uint8(1+rng.IntN(8)), uint16(1+rng.IntN(2*batch)))
	}
}

// eachWay runs f in every way that this build has of testing keys.
func eachWay(f func(way string)) {
	defer func(have bool) { haveAVX2 = have }(haveAVX2)
	if haveAVX2 {
		f("AVX2")
	}
	haveAVX2 = false
	f("plain")
}

func checkMark(t *testing.T, rng *rand.Rand, m uint32, k, shards uint8, n uint16) {
	t.Helper()
	keys := make([]uint32, n)
	for i := range keys {
		keys[i] = rng.Uint32()
	}
	var filters []*bloom.BloomFilter
	for range shards {
		words := make([]uint64, (m+63)/64)
		for i := range words { // nearly full, so that many keys need all locations
			words[i] = rng.Uint64() | rng.Uint64() | rng.Uint64() | rng.Uint64()
		}
		f := bloom.FromWithM(words, uint(m), uint(k))
		for _, key := range keys[:len(keys)/2] {
			f.Add(keyBytes(key))
		}
		filters = append(filters, f)
	}
	want, held := make([]byte, n), 0
	for i, key := range keys {
		if slices.ContainsFunc(filters, func(f *bloom.BloomFilter) bool { return f.Test(keyBytes(key)) }) {
			want[i] = InShard
			held++
		}
	}
	v := newView(NewLanes(filters))
	eachWay(func(way string) {
		got := make([]byte, n)
		if _, in := v.Mark(keys, got); !slices.Equal(got, want) || in != held {
			t.Fatalf("m %d, k %d, %d shards, %d keys, %s: other marks than bloom/v3", m, k, shards, n, way)
		}
	})
}

// TestInterleave holds every bit of a lane to the shards.
func TestInterleave(t *testing.T) {
	for round := range 160 {
		m := uint(64 + rand.IntN(3000))
		var filters []*bloom.BloomFilter
		for range 1 + round%8 {
			words := make([]uint64, (m+63)/64)
			for i := range words {
				words[i] = rand.Uint64()
			}
			filters = append(filters, bloom.FromWithM(words, m, 4))
		}
		g := &NewLanes(filters)[0]
		for l := range uint64(m) {
			for s, words := range g.words[:g.n] {
				if uint64(g.at(l)>>(s<<g.unit)&1) != words[l>>6]>>(l&63)&1 {
					t.Fatalf("%d shards of %d bits: bit %d of shard %d", g.n, m, l, s)
				}
			}
		}
	}
}
