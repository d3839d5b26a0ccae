package eval

import (
	"fmt"
	"math"
)

// permutations is the size of a MinHash signature, as libraries have it.
const permutations = 128

// minHashSettings are the LSH thresholds measured beside our rules.
var minHashSettings = []float64{.5, .7}

// MinHash is the usual MinHash LSH with 128 permutations of 64 bits over
// 5-character shingles, 1,024 bytes a text: two texts meet where all rows of a
// band agree. It is here to be compared with, and serves nothing else.
type MinHash struct {
	Threshold   float64
	Bands, Rows int
	tables      []map[uint64]int
}

// NewMinHash chooses bands and rows for a threshold the way LSH libraries do:
// so that false positives and false negatives, each the area between the
// collision curve 1 − (1 − Jʳ)ᵇ and the threshold, weigh the same.
func NewMinHash(threshold float64) *MinHash {
	m := &MinHash{Threshold: threshold}
	least := math.Inf(1)
	for bands := 1; bands <= permutations; bands++ {
		for rows := 1; rows <= permutations/bands; rows++ {
			meet := func(j float64) float64 { return 1 - math.Pow(1-math.Pow(j, float64(rows)), float64(bands)) }
			miss := func(j float64) float64 { return 1 - meet(j) }
			if cost := area(meet, 0, threshold) + area(miss, threshold, 1); cost < least {
				least, m.Bands, m.Rows = cost, bands, rows
			}
		}
	}
	m.tables = make([]map[uint64]int, m.Bands)
	for i := range m.tables {
		m.tables[i] = map[uint64]int{}
	}
	return m
}

func area(f func(float64) float64, from, to float64) (sum float64) {
	const step = .005
	for x := from; x < to; x += step {
		sum += f(x+step/2) * step
	}
	return sum
}

// Signature is the minima of a text under each permutation.
type Signature [permutations]uint64

// Sign computes a text's signature.
func (m *MinHash) Sign(text string) *Signature {
	s := new(Signature)
	for i := range s {
		s[i] = math.MaxUint64
	}
	for h := range Shingles(text, 5) {
		for i := range s {
			// Multiply-add hashing: a permutation of 64-bit numbers for odd factors.
			s[i] = min(s[i], (h^seeds[i])*(seeds[permutations-1-i]|1))
		}
	}
	return s
}

var seeds = func() (s [permutations]uint64) {
	for i := range s {
		s[i] = mix(uint64(i) + 1)
	}
	return
}()

// band is the key of a signature in a band.
func (m *MinHash) band(s *Signature, n int) uint64 {
	h := uint64(n)
	for _, v := range s[n*m.Rows : (n+1)*m.Rows] {
		h = mix(h ^ v)
	}
	return h
}

// Meet reports whether two texts would be candidates.
func (m *MinHash) Meet(a, b *Signature) bool {
	for n := range m.Bands {
		if m.band(a, n) == m.band(b, n) {
			return true
		}
	}
	return false
}

// First returns the earliest text in the tables that meets s, or -1.
func (m *MinHash) First(s *Signature) int {
	first := -1
	for n, t := range m.tables {
		if i, ok := t[m.band(s, n)]; ok && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

// Add puts a text into the tables; of those with one key the earliest stays.
func (m *MinHash) Add(s *Signature, number int) {
	for n, t := range m.tables {
		key := m.band(s, n)
		if _, ok := t[key]; !ok {
			t[key] = number
		}
	}
}

// Name says what it is and how it was set.
func (m *MinHash) Name() string { return fmt.Sprintf("minhash %.1f", m.Threshold) }
