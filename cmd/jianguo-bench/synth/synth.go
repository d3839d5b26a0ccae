// Package synth generates fingerprints to measure an index with: random ones, families of thousands of near-duplicates,
// which are the worst case, and edited copies as queries. Everything is a function of the Population and a number: item
// 7 is the same in every run, and does not depend on the six before it.
package synth

import (
	"cmp"
	"math"
	"math/rand/v2"

	"jianguo/simhash"
)

// Population describes the items: random fingerprints, 1 % of them in families.
type Population struct {
	FamilySize int // how many items a family has; 0: 3,000
	Seed       uint64
}

// familyShare is the share of items in families.
const familyShare = 0.01

// familyChange is the share of its weight in which a member of a family differs from
// the founder: bulletins of one form with other facts.
const familyChange = 0.2

// The kinds of number streams that an item's properties are drawn from.
const (
	ofItem = iota
	ofMargins
	ofFounder
	ofMember
	ofCopy
)

func (p *Population) stream(kind, i uint64) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed*8+kind, i))
}

// Family is the family of item i, or ok is false. One family follows another, each spread evenly over its stretch.
func (p *Population) Family(i uint64) (family uint64, ok bool) {
	if p.stream(ofItem, i).Float64() >= familyShare {
		return 0, false
	}
	return i / uint64(float64(cmp.Or(p.FamilySize, 3000))/familyShare), true
}

// Fingerprint is the fingerprint of item i.
func (p *Population) Fingerprint(i uint64) simhash.Fingerprint {
	if _, ok := p.Family(i); ok {
		print := p.Print(i)
		return print.Fingerprint
	}
	return p.unrelated(i)
}

// unrelated is the fingerprint of item i outside of families.
func (p *Population) unrelated(i uint64) simhash.Fingerprint {
	rng := p.stream(ofItem, i)
	rng.Float64() // as Family has drawn
	return simhash.Fingerprint(rng.Uint64())
}

// Print is item i with its margins.
func (p *Population) Print(i uint64) simhash.Print {
	sums := p.sums(i)
	return print(&sums)
}

// Copy is the copy number k of item i after an edit that replaced the share
// change, 0…1, of its weight. 5 % of the words are about 0.1 of the weight
// where features are words and pairs of words: 4 to 7 bits.
func (p *Population) Copy(i, k uint64, change float64) simhash.Print {
	sums := p.sums(i)
	edit(p.stream(ofCopy+8*k, i), &sums, change)
	return print(&sums)
}

// sums are the weighted sums of the bits of item i. A sum over many
// independent features is normal (central limit theorem).
func (p *Population) sums(i uint64) [simhash.Bits]float64 {
	if family, ok := p.Family(i); ok {
		founder := normals(p.stream(ofFounder, family))
		edit(p.stream(ofMember, i), &founder, familyChange)
		return founder
	}
	sums := normals(p.stream(ofMargins, i))
	fp := p.unrelated(i)
	for b := range sums {
		sums[b] = math.Abs(sums[b])
		if fp>>b&1 == 0 {
			sums[b] = -sums[b]
		}
	}
	return sums
}

func normals(rng *rand.Rand) (v [simhash.Bits]float64) {
	for b := range v {
		v[b] = rng.NormFloat64()
	}
	return v
}

// edit replaces a share of the features by others: what stays keeps its sums,
// what is new adds independent ones.
func edit(rng *rand.Rand, sums *[simhash.Bits]float64, change float64) {
	noise := normals(rng)
	for b := range sums {
		sums[b] = math.Sqrt(1-change)*sums[b] + math.Sqrt(change)*noise[b]
	}
}

func print(sums *[simhash.Bits]float64) simhash.Print {
	var p simhash.Print
	squares := 0.0
	for b, v := range sums {
		squares += v * v
		if v > 0 {
			p.Fingerprint |= 1 << b
		}
	}
	for b, v := range sums {
		p.Margins[b] = float32(math.Abs(v) / math.Sqrt(squares/simhash.Bits))
	}
	return p
}
