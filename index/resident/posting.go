package resident

import (
	"context"
	"encoding/binary"
	"fmt"

	"jianguo/compare"
	"jianguo/index/bands"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
	"jianguo/simhash"
)

// Posting is what an exemplar is found by.
type Posting struct {
	Fingerprint simhash.Fingerprint // 0: a text without terms, which is found by keys only
	Keys        []uint64            // of short texts, passages and figures
}

func NewPosting(fp simhash.Fingerprint, s *compare.Sketch) Posting {
	return Posting{fp, append(s.Keys(), s.PassageKeys()...)}
}

// DecodePosting is the posting of a row of the catalogue. A blank row has no
// sketch; it can belong to an exemplar, by the recipe of an earlier time.
func DecodePosting(ordinal uint32, fingerprint int64, encoded []byte) (Posting, error) {
	fp := simhash.Fingerprint(fingerprint)
	if len(encoded) == 0 {
		return Posting{Fingerprint: fp}, nil
	}
	s, err := compare.DecodeSketch(encoded)
	return NewPosting(fp, &s), wrap.Err(err, "sketch of ordinal %d", ordinal)
}

// ReadPosting reads the posting of a version from the table or view of what versions
// are compared by.
func ReadPosting(ctx context.Context, db sqlite.Querier, compared string, ordinal uint32) (p Posting, err error) {
	var fingerprint int64
	var encoded []byte
	query := `SELECT fingerprint, sketch FROM ` + compared + ` WHERE ordinal = ?`
	err = db.QueryRowContext(ctx, query, ordinal).Scan(&fingerprint, &encoded)
	if err != nil {
		return p, fmt.Errorf("ordinal %d: %w", ordinal, err)
	}
	return DecodePosting(ordinal, fingerprint, encoded)
}

// AddTo adds a posting that is not there.
func (p *Posting) AddTo(b *bands.Bands, ordinal uint32) {
	if p.Fingerprint != 0 {
		b.Add(p.Fingerprint, ordinal)
	}
	b.AddKeys(p.Keys, ordinal)
}

func (p *Posting) RemoveFrom(b *bands.Bands, ordinal uint32) {
	if p.Fingerprint != 0 {
		b.Remove(p.Fingerprint, ordinal)
	}
	b.RemoveKeys(p.Keys, ordinal)
}

// Without is the part of a posting that another one has not.
func (p Posting) Without(other *Posting) (rest Posting) {
	if p.Fingerprint != other.Fingerprint {
		rest.Fingerprint = p.Fingerprint
	}
	for _, k := range p.Keys {
		if !bands.Known(other.Keys, k) {
			rest.Keys = append(rest.Keys, k)
		}
	}
	return rest
}

// ExactKey is the part of an exact hash, 16 bytes, that the look-up of normal
// forms knows.
func ExactKey(exact []byte) uint64 { return binary.LittleEndian.Uint64(exact) }
