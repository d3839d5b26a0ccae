package bands

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"jianguo/simhash"
)

// fingerprintOf returns the fingerprint of an ordinal, so that readers can recognise a
// torn posting. A third of the fingerprints are in one bucket, the others are random.
func fingerprintOf(ordinal uint32) simhash.Fingerprint {
	x := uint64(ordinal) * 0x9e3779b97f4a7c15
	if ordinal%3 == 0 {
		x >>= 16
	}
	return simhash.Fingerprint(x ^ x>>29)
}

func printOf(ordinal uint32) simhash.Print {
	p := simhash.Print{Fingerprint: fingerprintOf(ordinal)}
	for b := range p.Margins {
		p.Margins[b] = 0.4 + float32(b%7)*0.2
	}
	return p
}

// TestReadersBesideTheWriter looks up postings and takes snapshots while the writer adds
// and removes postings and so rebuilds pages. A posting that is never removed is always
// found. Every hit was added, and is reported once. The race detector checks the memory
// accesses.
func TestReadersBesideTheWriter(t *testing.T) {
	const standing, rounds, churn = 3000, 8, 1500
	b := New()
	keysOf := func(o uint32) []uint64 { return []uint64{uint64(o) % 50 << 40, uint64(o+1) * 0x9e3779b97f4a7c15} }
	for o := range uint32(standing) {
		b.Add(fingerprintOf(o), o)
		b.AddKeys(keysOf(o), o)
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	// Also if the writer panics; otherwise the readers would hide the panic.
	defer readers.Wait()
	defer done.Store(true)
	for r := range uint64(3) {
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(r, 8))
			for !done.Load() && !t.Failed() {
				look(t, b, rng.Uint32N(standing), keysOf)
			}
		})
	}
	readers.Go(func() {
		for !done.Load() && !t.Failed() {
			snapshotHolds(t, b, standing)
		}
	})
	next := uint32(standing)
	for range rounds {
		first := next
		for ; next < first+churn; next++ {
			b.Add(fingerprintOf(next), next)
			b.AddKeys(keysOf(next), next)
		}
		for o := first; o < next; o++ {
			if o%2 == 0 {
				b.Remove(fingerprintOf(o), o)
				b.Add(fingerprintOf(o), o)
			}
			if !b.Remove(fingerprintOf(o), o) || b.RemoveKeys(keysOf(o), o) != 2 {
				t.Errorf("ordinal %d was not there to be removed", o)
			}
		}
	}
	if b.Len() != standing {
		t.Errorf("%d left, want %d", b.Len(), standing)
	}
}

func look(t *testing.T, b *Bands, o uint32, keysOf func(uint32) []uint64) {
	query := fingerprintOf(o)
	print := printOf(o)
	for name, hits := range map[string][]Hit{
		"hamming": b.Hamming(nil, query^1<<20, 3, math.MaxInt),
		"margin":  b.reached(nil, &print, 2, b.probes()),
	} {
		ordinals := make([]uint32, 0, len(hits))
		for _, h := range hits {
			if h.Fingerprint != fingerprintOf(h.Ordinal) {
				t.Errorf("%s found %v, which never was", name, h)
			}
			ordinals = append(ordinals, h.Ordinal)
		}
		slices.Sort(ordinals)
		if len(slices.Compact(slices.Clone(ordinals))) != len(ordinals) {
			t.Errorf("%s found something twice: %v", name, ordinals)
		}
		if _, ok := slices.BinarySearch(ordinals, o); !ok {
			t.Errorf("%s did not find %d", name, o)
		}
	}
	if got := b.Candidates(nil, keysOf(o)[1:], 3); !slices.Equal(got, []uint32{o}) {
		t.Errorf("candidates of %d: %v", o, got)
	}
	if got := b.Candidates(nil, keysOf(o), 10); len(got) != 10 || got[0] != o {
		t.Errorf("candidates of %d and its hot key: %v", o, got)
	}
}

func snapshotHolds(t *testing.T, b *Bands, standing uint32) {
	pages := stored{}
	pages.save(b)
	loaded := pages.load(t)
	for o := range standing {
		if !slices.Contains(loaded.Hamming(nil, fingerprintOf(o), 0, math.MaxInt), Hit{fingerprintOf(o), o}) {
			t.Errorf("the snapshot has lost %d", o)
			return
		}
	}
}

func TestSkew(t *testing.T) {
	b := New()
	rng := rand.New(rand.NewPCG(9, 9))
	for i := range uint32(100000) {
		b.Add(simhash.Fingerprint(rng.Uint64()), i)
	}
	if skew := b.Skew(); skew < 0.9 || skew > 1.1 {
		t.Errorf("random: %v", skew)
	}
	for i := range uint32(5000) {
		b.Add(7, i)
	}
	for i := range uint32(100) {
		b.Remove(7, i)
	}
	if skew := b.Skew(); skew < 5 {
		t.Errorf("5,000 of one fingerprint: %v", skew)
	}
}
