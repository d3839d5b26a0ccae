package exposure

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
)

// FuzzQuotes holds the map of quotes, by whatever instructions this machine has and
// by those that all have, against a look at each byte.
func FuzzQuotes(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add([]byte(`{"user":"u","items":["a","b"]}`), uint8(60))
	f.Add([]byte("\x00\x1f\x20\x21\x22\x23\x5b\x5c\x5d\x7f\x80\xa2\xdc\xff"), uint8(1))
	f.Add([]byte("中\"文\"中\"文"), uint8(130))
	f.Fuzz(func(t *testing.T, data []byte, before uint8) {
		b := append(slices.Repeat([]byte{'x'}, int(before)), data...)
		var want quoteMap = make([]uint64, (len(b)+63)/64)
		simple := utf8.Valid(b)
		for i, c := range b {
			if c == '"' {
				want[i/64] |= 1 << (i % 64)
			}
			if c < ' ' || c == '\\' {
				simple = false
			}
		}
		var got quoteMap
		if plain := got.read(b); plain != simple || !slices.Equal(got, want) {
			t.Fatalf("%q: %v %x, want %v %x", b, plain, got, simple, want)
		}
		padded := append(slices.Clone(b), slices.Repeat([]byte{' '}, 63)...)
		padded = padded[:len(padded)/64*64]
		one, two := make([]uint64, len(padded)/64), make([]uint64, len(padded)/64)
		if has := mapQuotes(padded, one); has != mapQuotesGo(padded, two) || !slices.Equal(one, two) || !slices.Equal(one, want) {
			t.Fatalf("%q: %d %x and %x, want %x", b, has, one, two, want)
		}
		for i, next := len(b)-1, -1; i >= 0; i-- {
			if b[i] == '"' {
				next = i
			}
			if n := got.next(i); n != next {
				t.Fatalf("%q: next quote after %d at %d, want %d", b, i, n, next)
			}
		}
	})
}

// TestHash16 holds the hash of middling ids against the library's.
func TestHash16(t *testing.T) {
	for range 10_000 {
		id := make([]byte, 9+rand.IntN(8))
		for i := range id {
			id[i] = byte(rand.Uint32())
		}
		seed := rand.Uint64()
		got := hash16(binary.LittleEndian.Uint64(id), binary.LittleEndian.Uint64(id[len(id)-8:]), uint64(len(id)), seed)
		if want := xxh3.HashSeed(id, seed); got != want {
			t.Fatalf("%x under %x: %x, want %x", id, seed, got, want)
		}
	}
}

// TestAllIsEach holds the kernel for many keys, by whatever instructions this machine
// has and by those that all have, against shard by shard and key by key: for every k, for
// sizes about the smallest that vectors serve, and up to the largest there is.
func TestAllIsEach(t *testing.T) { eachKind(func() { testAllIsEach(t) }) }

func testAllIsEach(t *testing.T) {
	sizes := []uint32{64, 65, 1000, 8191, 8192, 8193, 17129, 18192, 65536, 171287, 1<<19 - 1, 1 << 19, 1<<19 + 1, 1<<20 - 1, 1 << 25}
	for round := range 200 {
		m := sizes[round%len(sizes)]
		k, shards := uint64(1+rand.IntN(24)), 1+rand.IntN(8)
		g := newGroup(m, uint8(k))
		keys := make([]uint32, 1+rand.IntN(batch))
		for i := range keys {
			keys[i] = rand.Uint32()
		}
		for s := range shards {
			words := make([]uint64, (m+63)/64)
			for i := range words { // nearly full, so that many keys go far
				words[i] = rand.Uint64() | rand.Uint64() | rand.Uint64() | rand.Uint64()
			}
			for _, key := range keys[:len(keys)/2] {
				addToShard(words, g.mod, k, baseHashes(key))
			}
			g.add(s, words)
		}
		g.buildLane(make([]uint32, g.length()))
		w := new(work)
		want, before := make([]byte, len(keys)), make([]byte, len(keys))
		for i, key := range keys {
			var held byte
			for s, words := range g.words[:g.n] {
				if testShard(words, g.mod, k, baseHashes(key)) {
					held |= 1 << s
				}
			}
			if got := g.test(baseHashes(key)); got != held {
				t.Fatalf("m %d, k %d: %08b from the lane, %08b from the shards", m, k, got, held)
			}
			before[i] = byte(rand.IntN(3) / 2) // held by another group
			want[i] = before[i] | min(held, 1)
		}
		copy(w.hits[:], before)
		w.hashVector(keys)
		g.testAll(keys, w)
		if !slices.Equal(w.hits[:len(keys)], want) {
			t.Fatalf("m %d, k %d, %d shards, %d keys: other answers than key by key", m, k, shards, len(keys))
		}
		if k < 4 {
			continue
		}
		n := g.testFirst(keys, w)
		g.testRest(n, w)
		got := before
		for j, i := range w.at[:n] {
			got[i] |= w.found[j]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("m %d, k %d, %d shards, %d keys: other answers without vectors", m, k, shards, len(keys))
		}
	}
}

// TestInterleave holds every bit of a lane, by whatever instructions this machine has and
// by those that all have, against the shards.
func TestInterleave(t *testing.T) { eachKind(func() { testInterleave(t) }) }

func testInterleave(t *testing.T) {
	for round := range 160 {
		g := newGroup(uint32(64+rand.IntN(3000)), 4)
		for s := range 1 + round%8 {
			words := make([]uint64, (g.mod.m+63)/64)
			for i := range words {
				words[i] = rand.Uint64()
			}
			g.add(s, words)
		}
		dirty := make([]uint32, g.length())
		for i := range dirty {
			dirty[i] = rand.Uint32()
		}
		g.buildLane(dirty)
		plain := make([]uint32, g.length())
		for s, words := range g.words[:g.n] {
			interleaveWords(plain, words, g.unit, s<<g.unit)
		}
		if !slices.Equal(plain, g.lane) {
			t.Fatalf("%d shards of %d bits: other lanes", g.n, g.mod.m)
		}
		for l := range g.mod.m {
			for s, words := range g.words[:g.n] {
				if uint64(g.read().at(l)>>(s<<g.unit)&1) != words[l>>6]>>(l&63)&1 {
					t.Fatalf("%d shards of %d bits: bit %d of shard %d", g.n, g.mod.m, l, s)
				}
			}
		}
	}
}
