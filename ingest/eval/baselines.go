package eval

import (
	"math"
	"strings"

	"github.com/zeebo/xxh3"

	"jianguo/index"
	"jianguo/simhash"
)

// rule is a way to judge pairs that is measured beside ours.
type rule struct {
	name    string
	rejects func(j *Judged) bool
}

var rules = []rule{
	{"jianguo: rejected", func(j *Judged) bool { return j.Verdict == index.Duplicate }},
	{"jianguo: rejected or suspect", func(j *Judged) bool { return j.Verdict != index.Unique }},
	{"SimHash, distance ≤ 3", func(j *Judged) bool { return j.Same || j.Distance <= 3 }},
	{"MinHash LSH, 128 permutations, J ≥ .5", func(j *Judged) bool { return j.Same || j.MinHash }},
	{"Jaccard of 5 characters ≥ .5", func(j *Judged) bool { return j.Jaccard >= .5 }},
}

// distance returns the Hamming distance of two articles, or 64 if one has no features:
// such a text resembles no other.
func distance(a, b *index.Article) int {
	if a.Print.Empty() || b.Print.Empty() {
		return 64
	}
	return simhash.Distance(a.Print.Fingerprint, b.Print.Fingerprint)
}

// content is the normal form without its clause breaks, which the textbook rules are
// measured on. The headline counts only where there is no body.
func content(a *index.Article) string {
	s := a.Text.Body
	if s == "" {
		s = a.Text.Title
	}
	return strings.ReplaceAll(s, "\n", "")
}

// Set is a set of shingles, by their hashes.
type Set map[uint64]struct{}

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

// The usual MinHash LSH with 128 permutations of 64 bits: two texts are candidates if all
// rows of a band agree. Bands and rows are those that libraries choose for a threshold of .5:
// false positives and false negatives, each the area between the collision curve
// 1 − (1 − Jʳ)ᵇ and the threshold, weigh the same.
const permutations, bands, rows = 128, 25, 5

// Signature is the minima of a set under each permutation.
type Signature [permutations]uint64

func (s Set) Sign() *Signature {
	out := new(Signature)
	for i := range out {
		out[i] = math.MaxUint64
	}
	for h := range s {
		for i := range out {
			// Multiply-add hashing: a permutation of 64-bit numbers for odd factors.
			out[i] = min(out[i], (h^seeds[i])*(seeds[permutations-1-i]|1))
		}
	}
	return out
}

// Meets reports whether two texts are candidates.
func (s *Signature) Meets(t *Signature) bool {
	for from := 0; from < bands*rows; from += rows {
		if [rows]uint64(s[from:]) == [rows]uint64(t[from:]) {
			return true
		}
	}
	return false
}

var seeds = func() (s [permutations]uint64) {
	for i := range s {
		s[i] = mix(uint64(i) + 1)
	}
	return
}()

// mix is the finaliser of splitmix64 (Steele, Lea & Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
