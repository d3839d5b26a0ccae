package main

import (
	"math"
	"math/rand/v2"

	"jianguo/simhash"
)

// population generates the items that an index is measured with: random fingerprints, and 1 % of them in families of
// near-duplicates, which are the worst case; and edited copies as queries. Everything is a function of the population
// and a number: item 7 is the same in every run, and does not depend on the six before it.
type population struct {
	familySize int // how many items a family has
}

const familyShare = 0.01

// familyChange is the share of its weight in which a member of a family differs from
// the founder: bulletins of one form with other facts.
const familyChange = 0.2

// The kinds of number streams that an item's properties are drawn from.
const (
	ofItem = iota
	ofSums
	ofFounder
	ofMember
	ofCopy
)

func (p *population) stream(kind, i uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed*8+kind, i))
}

// family is the family of item i, or ok is false. One family follows another, each spread evenly over its stretch.
func (p *population) family(i uint64) (family uint64, ok bool) {
	if p.stream(ofItem, i).Float64() >= familyShare {
		return 0, false
	}
	return i / uint64(float64(p.familySize)/familyShare), true
}

// print is item i with its margins.
func (p *population) print(i uint64) simhash.Print {
	sums := p.sums(i)
	return printOf(&sums)
}

// copy is the copy number k of item i after an edit that replaced the share
// change, 0…1, of its weight. 5 % of the words are about 0.1 of the weight
// where features are words and pairs of words: 4 to 7 bits.
func (p *population) copy(i, k uint64, change float64) simhash.Print {
	sums := p.sums(i)
	edit(p.stream(ofCopy+8*k, i), &sums, change)
	return printOf(&sums)
}

// sums are the weighted sums of the bits of item i. A sum over many
// independent features is normal (central limit theorem).
func (p *population) sums(i uint64) [simhash.Bits]float64 {
	if family, ok := p.family(i); ok {
		founder := normals(p.stream(ofFounder, family))
		edit(p.stream(ofMember, i), &founder, familyChange)
		return founder
	}
	return normals(p.stream(ofSums, i))
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

func printOf(sums *[simhash.Bits]float64) simhash.Print {
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
