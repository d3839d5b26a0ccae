package index

import (
	"context"
	"math"

	"jianguo/index/bands"
	"jianguo/index/resident"
	"jianguo/simhash"
)

// Probe measures what is resident, for package bench and metrics.
type Probe struct{ x *Index }

// Probe returns a Probe. It may be used beside everything else.
func (x *Index) Probe() Probe { return Probe{x} }

// Hamming is the look-up of the proposals `hamming`; it returns how many.
func (p Probe) Hamming(q *simhash.Print) int {
	var buf [64]bands.Hit
	return len(p.x.bands.Hamming(buf[:0], q.Fingerprint, 3))
}

// Margin is the look-up of the proposals `margin`; it returns how many.
func (p Probe) Margin(q *simhash.Print) int {
	var buf [64]bands.Hit
	hits, _ := p.x.bands.MarginLimit(buf[:0], q, p.x.policy.MaxS, bands.Budget{}, p.x.policy.Judged)
	return len(hits)
}

// Within are the exemplars that the margin look-up finds at S < s.
func (p Probe) Within(q *simhash.Print, s float32) []simhash.Fingerprint {
	var found []simhash.Fingerprint
	for _, h := range p.x.bands.Margin(nil, q, p.x.policy.MaxS, bands.Budget{}) {
		if q.S(h.Fingerprint) < s {
			found = append(found, h.Fingerprint)
		}
	}
	return found
}

// Judged is how many proposals there are for an article, strangers among them.
func (p Probe) Judged(a *Article) int { return len(p.x.propose(a)) }

// Insert is Add without judging: only an equal normal form makes a copy. What is
// left is what it costs to keep an item, durably.
func (p Probe) Insert(ctx context.Context, mutations []Mutation) error {
	p.x.write.Lock()
	p.x.trusting = true
	p.x.write.Unlock()
	_, err := p.x.Add(ctx, mutations)
	p.x.write.Lock()
	p.x.trusting = false
	p.x.write.Unlock()
	return err
}

// Post makes fingerprints resident, and nothing else of them: first is the
// ordinal of the first.
func (p Probe) Post(first uint32, fingerprints []simhash.Fingerprint) {
	p.x.write.Lock()
	defer p.x.write.Unlock()
	for i, fp := range fingerprints {
		p.x.bands.Add(fp, first+uint32(i))
	}
}

// Reload drops what is resident and reads the snapshot again. Nothing else may use
// the index.
func (p Probe) Reload(ctx context.Context) error {
	t, err := p.x.snapshot.Reload(ctx)
	if err != nil {
		return err
	}
	p.x.bands.Close()
	p.x.ids.Close()
	p.x.exacts.Close()
	p.x.setTables(t)
	return nil
}

// Outlined is closed once judging has in memory what it needs of strangers.
func (p Probe) Outlined() <-chan struct{} { return p.x.outlined }

// Exemplar reports whether the version with an ordinal is one.
func (p Probe) Exemplar(ordinal uint32) bool { return p.x.rows.Flags(ordinal)&resident.Exemplar != 0 }

// Bytes are resident bytes: of the fingerprints' bands, and of everything by
// part.
func (p Probe) Bytes() (inBands int64, parts map[string]int64) {
	s := p.x.bands.Stats()
	inBands = s.Bytes
	if s.Fingerprints > 0 {
		// The four bands' share of the postings.
		wide, narrow := 4*int64(s.Fingerprints)*bands.PostingBytes, int64(s.KeyPostings)*bands.KeyBytes
		inBands = int64(float64(s.Bytes) * float64(wide) / float64(wide+narrow))
	}
	return inBands, map[string]int64{
		"bands": inBands, "keys": s.Bytes - inBands, "ids": p.x.ids.Stats().Bytes, "exact": p.x.exacts.Stats().Bytes,
		"versions": p.x.rows.Bytes(),
	}
}

// judgeForm takes every article for new whose normal form is.
func (x *Index) judgeForm(ctx context.Context, r rows, a *Article, at uint32, own map[uint32]bool, _ *preview) (judgement, error) {
	if !a.Blank {
		if j, ok, err := x.judgeExact(ctx, r, a, at, own); ok || err != nil {
			return j, err
		}
	}
	return judgement{verdict: Unique, distance: -1, s: -1, resemblance: float32(math.NaN())}, nil
}
