package eval

import (
	"math/bits"
	"strings"

	"github.com/zeebo/xxh3"

	"jianguo/index"
	"jianguo/simhash"
)

// Set is a set of shingles, by their hashes.
type Set map[uint64]struct{}

// content is the normal form without its clause breaks: what every measure
// here is taken on. The headline counts only where it is all there is.
func content(a *index.Article) string {
	s := a.Text.Body
	if s == "" {
		s = a.Text.Title
	}
	return strings.ReplaceAll(s, "\n", "")
}

// Shingles is the set of runs of k characters; a shorter text is one run.
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

// WordShingles is the set of runs of k words.
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

// With is the Jaccard resemblance of two sets, and the larger share that one
// has of the other.
func (s Set) With(t Set) (jaccard, containment float64) {
	if len(s) > len(t) {
		s, t = t, s
	}
	if len(s) == 0 {
		return 0, 0
	}
	both := 0
	for h := range s {
		if _, ok := t[h]; ok {
			both++
		}
	}
	return float64(both) / float64(len(s)+len(t)-both), float64(both) / float64(len(s))
}

func hamming(a, b simhash.Fingerprint) int { return bits.OnesCount64(uint64(a ^ b)) }

// mix is the finaliser of splitmix64 (Steele, Lea & Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
