package exposure

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// withVectors runs f as a processor would that has no more than these.
func withVectors(avx512, vbmi2, avx2 bool, f func()) {
	defer func(a, b, c bool) { haveAVX512, haveVBMI2, haveAVX2 = a, b, c }(haveAVX512, haveVBMI2, haveAVX2)
	haveAVX512, haveVBMI2, haveAVX2 = avx512 && haveAVX512, vbmi2 && haveVBMI2, avx2 && haveAVX2
	f()
}

func withoutVectors(f func()) { withVectors(false, false, false, f) }

// eachKind runs f as every kind of processor would that this one can stand for.
func eachKind(f func()) {
	if haveVBMI2 {
		withVectors(true, true, true, f)
	}
	if haveAVX512 {
		withVectors(true, false, true, f)
	}
	if haveAVX2 {
		withVectors(false, false, true, f)
	}
	withoutVectors(f)
}

// TestLocations holds the locations that are computed without AVX-512 against a division,
// for moduli of all sizes and numbers next to where a quotient changes.
func TestLocations(t *testing.T) {
	if !haveAVX2 {
		t.Log("this processor has no AVX2: nothing to test")
		return
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for round := range 4000 {
		m := 64 + rng.Uint32N(1<<(6+round%14))
		switch round % 50 {
		case 0:
			m = 1 << 19
		case 1:
			m = 1<<19 - rng.Uint32N(100)
		case 2:
			m = 64
		}
		m = min(m, 1<<19)
		g := newGroup(m, 20)
		if g.rec.scale == 0 {
			t.Fatalf("no reciprocal of %d", m)
		}
		n := 1 + rng.IntN(restKeys)
		var w work
		number := func() uint64 {
			x := rng.Uint64() >> (rng.IntN(4) * 16)
			switch rng.IntN(4) {
			case 0:
				return ^uint64(0) - x%3
			case 1:
				return x/uint64(m)*uint64(m) + x%3 - 1
			case 2:
				return x | 0xffffffff
			}
			return x
		}
		// hashes in the order of these steps: see places8.
		h := make([]hashes, (n+7)/8*8)
		raw := (*[4 * batch]uint64)(unsafe.Pointer(&w.hashes))
		for i := range h {
			h[i] = hashes{number(), number(), number(), number()}
			at := i/8*32 + [8]int{0, 1, 4, 5, 2, 3, 6, 7}[i%8]
			raw[at], raw[at+8], raw[at+16], raw[at+24] = h[i].h0, h[i].h1, h[i].h2, h[i].h3
			w.common[i] = 1
		}
		d := &divisor{g.mod.m, g.rec.fold, g.rec.scale, g.rec.offset}
		check := func(i int, l uint64) {
			at := i/8*8*int(g.k-4) + int(l-4)*8 + i%8
			if l < 4 {
				at = i/8*8*4 + int(l)*8 + i%8
			}
			if got, want := uint64(w.locations[at]), h[i].at(l)%uint64(m); got != want {
				t.Fatalf("location %d of %x mod %d: %d, want %d", l, h[i], m, got, want)
			}
		}
		firstLocationsAVX2(&w.hashes[0], n, d, &w.locations[0])
		for i := range n {
			for l := range uint64(4) {
				check(i, l)
			}
		}
		if left := listLeftAVX2(&w.common[0], n, &left[0], &w.at[0], &w.places[0], &w.acc[0]); left != n {
			t.Fatalf("%d of %d left", left, n)
		}
		g.k = 5 + rng.Uint64N(restLocations)
		restLocationsAVX2(&w.hashes[0], &w.places[0], n, g.k, d, &w.locations[0])
		for i := range n {
			for l := uint64(4); l < g.k; l++ {
				check(i, l)
			}
		}
	}
}

// vectorBody is a request with ids of many lengths, most of them middling, and now and
// then something that eights have to stop at.
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

// TestSteps holds every step of a request, by whatever instructions this machine has,
// against those that all have: spans, keys, marks, what is listed, and both answers.
func TestSteps(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		body, key := vectorBody(rng), rng.Uint64()
		table := newExactTable(1200)
		var hits [batch]byte
		for i := range hits {
			if rng.IntN(3) == 0 {
				hits[i] = 1 << rng.IntN(8)
			}
		}
		var want, got message
		type result struct {
			marks  []byte
			counts [2]int
			out    Outcome
			json   []byte
		}
		var plain, vector result
		run := func(m *message, to *result) {
			if err := m.decode(body); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			m.hash(key)
			m.marks = make([]byte, len(m.keys))
			v := &view{exact: table}
			for i := 0; i < len(m.keys); i += batch {
				end := min(i+batch, len(m.keys))
				exact, shards := v.sortOut(m.keys[i:end], &hits, m.marks[i:end])
				to.counts[0], to.counts[1] = to.counts[0]+exact, to.counts[1]+shards
			}
			to.marks = slices.Clone(m.marks)
			m.choose(&to.out)
			to.json = m.appendJSON(nil, to.out)
		}
		withoutVectors(func() {
			if err := want.decode(body); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			want.hash(key)
			for i, k := range want.keys {
				if k != keyOf(want.id(i), key) {
					t.Fatalf("%s under %x", want.id(i), key)
				}
				if rng.IntN(10) == 0 {
					table.add(k)
				}
			}
			run(&want, &plain)
		})
		eachKind(func() {
			got, vector = message{}, result{}
			run(&got, &vector)
			if !slices.Equal(got.spans, want.spans) || !slices.Equal(got.odd, want.odd) || !slices.Equal(got.keys, want.keys) {
				t.Fatalf("seed %d: %s: other spans or keys", seed, body)
			}
			if plain.counts != vector.counts || !slices.Equal(plain.marks, vector.marks) || plain.out != vector.out || string(plain.json) != string(vector.json) {
				t.Fatalf("seed %d: %s:\n%v %v %s\n%v %v %s", seed, body, plain.counts, plain.out, plain.json, vector.counts, vector.out, vector.json)
			}
		})
	}
}

// TestListVector lists every pattern at every place.
func TestListVector(t *testing.T) { eachKind(func() { testListVector(t) }) }

func testListVector(t *testing.T) {
	for range 2000 {
		marks := make([]byte, rand.IntN(300))
		share := rand.IntN(101)
		var want []uint32
		for i := range marks {
			if rand.IntN(100) < share {
				marks[i] = byte(1 + rand.IntN(5))
			}
		}
		to := make([]uint32, len(marks))
		n, count := listVector(marks, to)
		for i, mark := range marks[:n] {
			if mark == unseen {
				want = append(want, uint32(i))
			}
		}
		if !slices.Equal(to[:count], want) {
			t.Fatalf("%v: %v, want %v", marks[:n], to[:count], want)
		}
	}
}

// BenchmarkPlain is BenchmarkFilter as on a processor without AVX.
func BenchmarkPlain(b *testing.B) { withoutVectors(func() { BenchmarkFilter(b) }) }
