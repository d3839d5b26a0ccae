package exposure

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// withoutVectors runs f as a processor without AVX would.
func withoutVectors(f func()) {
	defer func(a, b, c bool) { haveAVX512, haveVBMI2, haveAVX2 = a, b, c }(haveAVX512, haveVBMI2, haveAVX2)
	haveAVX512, haveVBMI2, haveAVX2 = false, false, false
	f()
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
		run(&got, &vector)
		if !slices.Equal(got.spans, want.spans) || !slices.Equal(got.odd, want.odd) || !slices.Equal(got.keys, want.keys) {
			t.Fatalf("seed %d: %s: other spans or keys", seed, body)
		}
		if plain.counts != vector.counts || !slices.Equal(plain.marks, vector.marks) || plain.out != vector.out || string(plain.json) != string(vector.json) {
			t.Fatalf("seed %d: %s:\n%v %v %s\n%v %v %s", seed, body, plain.counts, plain.out, plain.json, vector.counts, vector.out, vector.json)
		}
	}
}

// TestListVector lists every pattern at every place.
func TestListVector(t *testing.T) {
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
