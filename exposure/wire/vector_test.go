package wire

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// eachWay runs f in every way that this build has of finding and hashing ids.
func eachWay(f func(way string)) {
	defer func(have bool) { haveAVX2 = have }(haveAVX2)
	if haveAVX2 {
		f("AVX2")
	}
	haveAVX2 = false
	f("plain")
}

// FuzzQuotes holds the map of quotes, in assembly and in plain Go, to a look at each byte.
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
		eachWay(func(way string) {
			if plain := got.read(b); plain != simple || !slices.Equal(got, want) {
				t.Fatalf("%s: %q: %v %x, want %v %x", way, b, plain, got, simple, want)
			}
		})
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

// vectorBody is a request with ids of many lengths, most of them of 9 to 16 bytes, and with
// a few that the assembly leaves to plain Go.
func vectorBody(rng *rand.Rand) []byte {
	var b strings.Builder
	b.WriteString(`{"user":"u","items":[`)
	odd := rng.IntN(3)
	gap := []string{",", ", ", ",  ", " ,"}[max(0, rng.IntN(6)-2)]
	for i := range rng.IntN(1200) {
		if i > 0 {
			b.WriteString(gap)
		}
		n := 9 + rng.IntN(8)
		switch rng.IntN(200 / (1 + 60*odd)) {
		case 0:
			n = 1 + rng.IntN(40)
		case 1:
			n = 1 + rng.IntN(MaxIDBytes)
		case 2:
			fmt.Fprintf(&b, "%d", rng.IntN(5000))
			continue
		case 3:
			b.WriteString("\"中文编号一二三\"")
			continue
		}
		id := make([]byte, n)
		for j := range id {
			id[j] = "abcdefgh,: "[rng.IntN(11)]
		}
		if rng.IntN(3) == 0 {
			id = fmt.Appendf(id[:0], "item-%09d", rng.IntN(500))
		}
		fmt.Fprintf(&b, "%q", id)
	}
	b.WriteString(`]` + []string{"}", ` , "max": 7 }`, `,"scene":"` + strings.Repeat("x", 90) + `"}`}[rng.IntN(3)])
	return []byte(b.String())
}

// TestVectorIsPlain holds the spans and keys of random requests, found in assembly and in
// plain Go, to each other, and the keys to Key.
func TestVectorIsPlain(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		body, key := vectorBody(rng), rng.Uint64()
		var spans []span
		var odd []oddSpan
		eachWay(func(way string) {
			var q Query
			if err := q.Decode(body); err != nil {
				t.Fatalf("%s: %s: %v", way, body, err)
			}
			for i, k := range q.Keys(nil, key) {
				if k != Key(q.ID(i), key) {
					t.Fatalf("%s: %s under %x: key %x", way, q.ID(i), key, k)
				}
			}
			if spans == nil {
				spans, odd = q.spans, q.odd
			}
			if !slices.Equal(q.spans, spans) || !slices.Equal(q.odd, odd) {
				t.Fatalf("seed %d, %s: %s: other spans", seed, way, body)
			}
		})
	}
}
