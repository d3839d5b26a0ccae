package bands

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"jianguo/internal/testbed"
	"jianguo/simhash"

	gocmp "github.com/google/go-cmp/cmp"
)

// reference is a plain model of the postings.
type reference struct {
	fps  []Hit
	keys map[uint64][]uint32 // in the order in which they were added
}

func (r *reference) hamming(fp simhash.Fingerprint, max int) []Hit {
	var hits []Hit
	for _, h := range r.fps {
		if simhash.Distance(fp, h.Fingerprint) <= max {
			hits = append(hits, h)
		}
	}
	return hits
}

func byOrdinal(a, b Hit) int {
	return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Fingerprint, b.Fingerprint))
}

func sameHits(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, want, got []Hit) {
	t.Helper()
	want, got = slices.SortedFunc(slices.Values(want), byOrdinal), slices.SortedFunc(slices.Values(got), byOrdinal)
	if !slices.Equal(want, got) {
		t.Fatalf("%s (-want +got):\n%s", what, gocmp.Diff(want, got))
	}
}

// flip returns fp with n bits flipped.
func flip(rng *rand.Rand, fp simhash.Fingerprint, n int) simhash.Fingerprint {
	for _, b := range rng.Perm(simhash.Bits)[:n] {
		fp ^= 1 << b
	}
	return fp
}

// TestHammingIsLossless compares with brute force on random and on difficult sets:
// around few centres, all in one bucket, and with three flips spread over three bands.
func TestHammingIsLossless(t *testing.T) {
	sets := map[string]func(rng *rand.Rand) simhash.Fingerprint{
		"random": func(rng *rand.Rand) simhash.Fingerprint { return simhash.Fingerprint(rng.Uint64()) },
		"families": func(rng *rand.Rand) simhash.Fingerprint {
			return flip(rng, simhash.Fingerprint(rng.Uint64N(5)*0x9e3779b97f4a7c15), rng.IntN(7))
		},
		"one bucket": func(rng *rand.Rand) simhash.Fingerprint { return simhash.Fingerprint(rng.Uint64() >> 16) },
		"two bands":  func(rng *rand.Rand) simhash.Fingerprint { return simhash.Fingerprint(rng.Uint64() >> 32) },
		"identical":  func(rng *rand.Rand) simhash.Fingerprint { return 0xfedcba9876543210 },
		"three bands": func(rng *rand.Rand) simhash.Fingerprint {
			fp := simhash.Fingerprint(0x0123456789abcdef)
			for _, band := range rng.Perm(bandCount)[:3] {
				fp ^= 1 << (band*bandBits + rng.IntN(bandBits))
			}
			return fp
		},
	}
	for name, draw := range sets {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			b := New()
			var ref reference
			for i := range uint32(2000) {
				fp := draw(rng)
				b.Add(fp, i)
				ref.fps = append(ref.fps, Hit{fp, i})
			}
			for range 60 {
				q := flip(rng, ref.fps[rng.IntN(len(ref.fps))].Fingerprint, rng.IntN(6))
				for max := range MaxDistance + 1 {
					sameHits(t, "hamming", ref.hamming(q, max), b.Hamming(nil, q, max, math.MaxInt))
				}
			}
		})
	}
}

// TestHomeExistsAndIsUnique flips every set of up to three of the 64 bits.
func TestHomeExistsAndIsUnique(t *testing.T) {
	for i := range 64 {
		for j := range 64 {
			for k := range 64 {
				x := uint64(1)<<i | 1<<j | 1<<k
				if band := home(x); x>>(48-16*band)&0xffff != 0 {
					t.Fatalf("home(%016x) = %d, which differs", x, band)
				}
			}
		}
	}
}

// TestOperations applies random sequences of all operations that change postings, with
// snapshots and reloads between them, and compares each answer.
func TestOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New()
		ref := reference{keys: map[uint64][]uint32{}}
		pages := stored{}
		var next uint32
		// Few centres and few flips, so that collisions are frequent.
		fp := rapid.Custom(func(t *rapid.T) simhash.Fingerprint {
			f := simhash.Fingerprint(rapid.Uint64Range(0, 3).Draw(t, "centre") * 0x9e3779b97f4a7c15)
			for _, bit := range rapid.SliceOfN(rapid.IntRange(0, 63), 0, 4).Draw(t, "flips") {
				f ^= 1 << bit
			}
			return f
		})
		key := rapid.Map(rapid.Uint64Range(0, 5), func(k uint64) uint64 { return k << 16 }) // below, keys are not kept
		keys := rapid.SliceOfNDistinct(key, 1, 4, rapid.ID)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				h := Hit{fp.Draw(t, "fp"), next}
				for range rapid.SampledFrom([]int{1, 1, 1, 40}).Draw(t, "copies") {
					h.Ordinal = next
					b.Add(h.Fingerprint, next)
					ref.fps = append(ref.fps, h)
					next++
				}
			},
			"set": func(t *rapid.T) {
				if len(ref.fps) > 0 {
					h := rapid.SampledFrom(ref.fps).Draw(t, "hit")
					b.Remove(h.Fingerprint, h.Ordinal)
					b.Add(h.Fingerprint, h.Ordinal)
				}
			},
			"remove": func(t *rapid.T) {
				for range rapid.SampledFrom([]int{1, 1, 30}).Draw(t, "times") {
					if len(ref.fps) == 0 {
						return
					}
					i := rapid.IntRange(0, len(ref.fps)-1).Draw(t, "which")
					h := ref.fps[i]
					if !b.Remove(h.Fingerprint, h.Ordinal) || b.Remove(h.Fingerprint, h.Ordinal) {
						t.Fatalf("%v was not there exactly once", h)
					}
					ref.fps = slices.Delete(ref.fps, i, i+1)
				}
			},
			"add keys": func(t *rapid.T) {
				ks := keys.Draw(t, "keys")
				b.AddKeys(append(ks, ks[0]), next)
				for _, k := range ks {
					ref.keys[k] = append(ref.keys[k], next)
				}
				next++
			},
			"set keys": func(t *rapid.T) { // as a version that was no exemplar for a time
				k := key.Draw(t, "key")
				if os := ref.keys[k]; len(os) > 0 {
					o := rapid.SampledFrom(os).Draw(t, "ordinal")
					b.RemoveKeys([]uint64{k}, o)
					b.AddKeys([]uint64{k}, o)
				}
			},
			"remove keys": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if os := ref.keys[k]; len(os) > 0 {
					o := rapid.SampledFrom(os).Draw(t, "ordinal")
					if n := b.RemoveKeys([]uint64{k}, o); n != 1 {
						t.Fatalf("removed %d postings of key %d, ordinal %d", n, k, o)
					}
					ref.keys[k] = slices.DeleteFunc(os, func(x uint32) bool { return x == o })
				}
			},
			"snapshot": func(*rapid.T) { pages.save(b) },
			"reload": func(t *rapid.T) {
				pages.save(b)
				b = pages.load(t)
			},
			"": func(t *rapid.T) {
				if b.Len() != len(ref.fps) {
					t.Fatalf("%d fingerprints, want %d", b.Len(), len(ref.fps))
				}
				q, max := fp.Draw(t, "query"), rapid.IntRange(0, 3).Draw(t, "max")
				sameHits(t, "hamming", ref.hamming(q, max), b.Hamming(nil, q, max, math.MaxInt))
				limit := rapid.IntRange(1, 20).Draw(t, "limit")
				checkLimit(t, &ref, b, q, max, limit)
				ks := keys.Draw(t, "query keys")
				if d := gocmp.Diff(ref.candidates(ks, limit), b.Candidates(nil, ks, limit), cmpopts.EquateEmpty()); d != "" {
					t.Fatalf("candidates (-want +got):\n%s", d)
				}
			},
		})
	})
}

// stored are pages by table and number.
type stored map[[2]int][]byte

func (s stored) save(b *Bands) {
	for i, table := range b.Stored() {
		_ = table.Snapshot(func(number int, page []byte) error {
			s[[2]int{i, number}] = slices.Clone(page)
			return nil
		})
	}
}

func (s stored) load(t rapid.TB) *Bands {
	b := New()
	for id, page := range s {
		testbed.OK(t, b.Stored()[id[0]].LoadPage(id[1], page))
	}
	return b
}

func checkLimit(t *rapid.T, ref *reference, b *Bands, q simhash.Fingerprint, max, limit int) {
	want := ref.hamming(q, max)
	slices.SortFunc(want, func(x, y Hit) int {
		return cmp.Or(
			cmp.Compare(simhash.Distance(q, x.Fingerprint), simhash.Distance(q, y.Fingerprint)),
			cmp.Compare(y.Ordinal, x.Ordinal))
	})
	want = want[:min(limit, len(want))]
	if d := gocmp.Diff(want, b.Hamming(nil, q, max, limit), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("limit %d (-want +got):\n%s", limit, d)
	}
}

func (r *reference) candidates(keys []uint64, limit int) []uint32 {
	shared := map[uint32]int{}
	for _, k := range keys {
		os, weight := r.keys[k], 1000
		if len(os) > limit {
			os, weight = os[len(os)-limit:], 1
		}
		for _, o := range os {
			shared[o] += weight
		}
	}
	var all []uint32
	for o := range shared {
		all = append(all, o)
	}
	slices.SortFunc(all, func(x, y uint32) int {
		return cmp.Or(shared[y]-shared[x], cmp.Compare(y, x))
	})
	return all[:min(limit, len(all))]
}

// randomPrint draws half-normal margins: simhash has such margins for many features.
func randomPrint(rng *rand.Rand) simhash.Print {
	var s simhash.Sum
	for range 60 {
		s.Add(rng.Uint64(), float32(1+rng.IntN(8)))
	}
	return s.Print()
}

// disturb flips bits of p as edits do, the weak ones first.
func disturb(rng *rand.Rand, p *simhash.Print, force float64) simhash.Fingerprint {
	fp := p.Fingerprint
	for b, m := range p.Margins {
		if rng.NormFloat64()*force > float64(m) {
			fp ^= 1 << b
		}
	}
	return fp
}

// TestMarginReportsWhatItVisits: every hit is also a hit of a full scan, and is reported
// once. A posting whose difference in some band is among the probes is never missed.
// With enough probes, no posting is missed.
func TestMarginReportsWhatItVisits(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	b := New()
	var all []Hit
	var prints []simhash.Print
	for i := range uint32(20000) {
		p := randomPrint(rng)
		if i%4 != 0 {
			of := &prints[rng.IntN(len(prints))]
			p = *of
			p.Fingerprint = disturb(rng, of, 0.4)
		} else {
			prints = append(prints, p)
		}
		all = append(all, Hit{p.Fingerprint, i})
		b.Add(p.Fingerprint, i)
	}
	found := map[int]int{}
	scanned := 0
	for i := range 150 {
		p := prints[rng.IntN(len(prints))]
		if i%10 == 0 {
			p = few(rng)
		}
		maxS := []float32{0.5, 3, 5, 8}[i%4]
		var want []Hit
		for _, h := range all {
			if p.S(h.Fingerprint) < maxS {
				want = append(want, h)
			}
		}
		scanned += len(want)
		for _, probes := range []int{1, 64, 256, 1024} {
			got := b.reached(nil, &p, maxS, probes)
			found[probes] += len(got)
			var m margin
			m.prepare(&p, maxS)
			m.choose(probes)
			if len(m.probes) > probes || len(m.probes) == 0 || slices.Max(m.probes) >= m.unprobed {
				t.Fatalf("budget of %d probes: %v", probes, m.probes)
			}
			reachable := slices.DeleteFunc(slices.Clone(want), func(h Hit) bool { return !reached(&m, h) })
			sameHits(t, "margin", reachable, got)
		}
		if i%10 == 0 { // 2¹⁶ probes are all that four quarters of maxS allow, here
			if maxS <= 3 {
				sameHits(t, "margin without a budget", want, b.reached(nil, &p, maxS, 1<<16))
			}
		}
	}
	for _, probes := range []int{64, 256, 1024} {
		t.Logf("%d probes find %.4f of %d", probes, float64(found[probes])/float64(scanned), scanned)
	}
	if found[256] < scanned*9/10 || found[1] >= found[256] {
		t.Errorf("256 probes find %d of %d, one %d", found[256], scanned, found[1])
	}
}

// few is the print of a text with so few features that margins are equal or zero.
func few(rng *rand.Rand) simhash.Print {
	var s simhash.Sum
	for range 1 + rng.IntN(3) {
		s.Add(rng.Uint64(), 1)
	}
	return s.Print()
}

// reached reports, by the list of probes alone, whether a posting must be found.
func reached(m *margin, h Hit) bool {
	x := uint64(m.print.Fingerprint ^ h.Fingerprint)
	for _, s := range m.probes {
		var cost [3]uint32
		for i := range cost {
			cost[i] = m.cost((s.band()+i)%bandCount, uint16(bits.RotateLeft64(x, 16*(s.band()+i))>>48))
		}
		if uint16(bits.RotateLeft64(x, 16*s.band())>>48) == s.flips() &&
			cost[0]+cost[1] < m.limit/2 && cost[0]+cost[1]+cost[2] < m.limit/4*3 {
			return true
		}
	}
	return false
}

// TestPass compares the postings that pass with their costs.
func TestPass(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	passed := 0
	for range 200 {
		p := randomPrint(rng)
		var m margin
		m.prepare(&p, 8*rng.Float32())
		hi := make([]uint32, rng.IntN(200))
		query, band := rng.Uint32(), rng.IntN(bandCount)
		next, both := rng.Uint32N(m.limit/2+1), rng.Uint32N(m.limit/4*3+1)
		for i := range hi {
			hi[i] = query ^ rng.Uint32()&rng.Uint32()&rng.Uint32()
		}
		masks := m.sieve.pass(hi, query, band, next, both)
		for i, h := range hi {
			first := m.cost((band+1)%bandCount, uint16((h^query)>>16))
			sum := first + m.cost((band+2)%bandCount, uint16(h^query))
			ok := masks[i/64]>>(i%64)&1 == 1
			passed += int(masks[i/64] >> (i % 64) & 1)
			if first < next && sum < both && !ok || (first >= next+8*m.sieve.unit || sum >= both+12*m.sieve.unit) && ok {
				t.Fatalf("costs %d and %d, bounds %d and %d, unit %d: passes %v", first, sum, next, both, m.sieve.unit, ok)
			}
		}
	}
	if passed < 100 {
		t.Errorf("only %d passed: this proves little", passed)
	}
}

func TestEmptyPrintHasNoRelatives(t *testing.T) {
	b := New()
	b.Add(0, 1)
	if got := b.reached(nil, &simhash.Print{}, 64, b.probes()); len(got) > 0 {
		t.Errorf("found %v", got)
	}
}

// reached is Margin without a limit, with a number of probes.
func (b *Bands) reached(dst []Hit, p *simhash.Print, maxS float32, probes int) []Hit {
	return b.margin(dst, p, maxS, probes, math.MaxInt)
}
