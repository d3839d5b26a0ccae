package index

import (
	"context"
	"database/sql"

	"jianguo/index/bands"
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

// Judged is how many proposals an article is judged against.
func (p Probe) Judged(a *Article) int { return min(len(p.x.propose(a)), p.x.policy.Judged) }

// Fingerprints are those of all exemplars.
func (p Probe) Fingerprints(ctx context.Context) ([]simhash.Fingerprint, error) {
	var all []simhash.Fingerprint
	err := each(ctx, p.x.reader, `SELECT ordinal, fingerprint FROM items`, func(r *sql.Rows) error {
		var ordinal uint32
		var f int64
		err := r.Scan(&ordinal, &f)
		if p.x.columns.flags(ordinal)&flagExemplar != 0 {
			all = append(all, simhash.Fingerprint(f))
		}
		return err
	})
	return all, err
}

// Bytes are resident bytes: of the fingerprints' bands, and of all postings,
// look-ups and columns together.
func (p Probe) Bytes() (inBands, all int64) {
	s, ids, exacts := p.x.bands.Stats(), p.x.ids.Stats(), p.x.exacts.Stats()
	inBands = s.Bytes
	if s.Fingerprints > 0 {
		// The four bands' share of the postings.
		inBands = s.Bytes * 4 * int64(s.Fingerprints) / (4*int64(s.Fingerprints) + int64(s.KeyPostings))
	}
	columns := int64(len(p.x.columns.all())) * chunkBytes
	return inBands, s.Bytes + ids.Bytes + exacts.Bytes + columns
}
