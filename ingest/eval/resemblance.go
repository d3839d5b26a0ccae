package eval

import (
	"fmt"
	"math"
	"strings"

	"github.com/zeebo/xxh3"

	"jianguo/index"
)

// Set is a set of shingles, by their hashes.
type Set map[uint64]struct{}

// content is the normal form without its clause breaks, which every measure here is
// taken on. The headline counts only where there is no body.
func content(a *index.Article) string {
	s := a.Text.Body
	if s == "" {
		s = a.Text.Title
	}
	return strings.ReplaceAll(s, "\n", "")
}

// Shingles returns the set of sequences of k characters; a shorter text is one
// sequence.
func Shingles(text string, k int) Set {
	set := Set{}
	if text == "" {
		return set
	}
	starts := make([]int, 0, len(text)/3+2)
	for i := range text {
		starts = append(starts, i)
	}
	starts = append(starts, len(text))
	for i := 0; i+k < len(starts) || i == 0; i++ {
		set[xxh3.HashString(text[starts[i]:starts[min(i+k, len(starts)-1)]])] = struct{}{}
	}
	return set
}

// WordShingles returns the set of sequences of k words.
func WordShingles(words func(yield func(string) bool), k int) Set {
	set := Set{}
	var last []uint64
	for w := range words {
		last = append(last, xxh3.HashString(w))
		if len(last) < k {
			continue
		}
		h := uint64(k)
		for _, x := range last[len(last)-k:] {
			h = mix(h ^ x)
		}
		set[h] = struct{}{}
	}
	return set
}

// With returns the Jaccard resemblance of two sets, and the share of the smaller one
// that is in both.
func (s Set) With(t Set) (jaccard, containment float64) {
	if len(s) > len(t) {
		s, t = t, s
	}
	both := 0
	for h := range s {
		if _, ok := t[h]; ok {
			both++
		}
	}
	return share(both, len(s)+len(t)-both), share(both, len(s))
}

// share is n of `of`; 0 of none.
func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// permutations is the size of a MinHash signature, as libraries have it.
const permutations = 128

// MinHash is the usual MinHash LSH with 128 permutations of 64 bits over 5-character
// shingles, 1,024 bytes a text: two texts are candidates if all rows of a band agree.
type MinHash struct {
	Threshold   float64
	Bands, Rows int
}

// minHashes are the settings measured beside our rules. Bands and rows are those that
// LSH libraries choose for the threshold: false positives and false negatives, each the
// area between the collision curve 1 − (1 − Jʳ)ᵇ and the threshold, weigh the same.
var minHashes = []MinHash{{.5, 25, 5}, {.7, 14, 9}}

func (m MinHash) name() string { return fmt.Sprintf("minhash %.1f", m.Threshold) }

// Signature is the minima of a text under each permutation.
type Signature [permutations]uint64

// Sign computes the signature of a text.
func Sign(text string) *Signature {
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
func (m MinHash) band(s *Signature, n int) uint64 {
	h := uint64(n)
	for _, v := range s[n*m.Rows : (n+1)*m.Rows] {
		h = mix(h ^ v)
	}
	return h
}

// Meet reports whether two texts are candidates.
func (m MinHash) Meet(a, b *Signature) bool {
	for n := range m.Bands {
		if m.band(a, n) == m.band(b, n) {
			return true
		}
	}
	return false
}

// mix is the finaliser of splitmix64 (Steele, Lea & Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
