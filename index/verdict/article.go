package verdict

import (
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"

	"jianguo/compare"
	"jianguo/simhash"
)

// Article is a published item as ingest has analysed it.
type Article struct {
	ID        string
	Revision  int64 // 0: none given
	Title     string
	Source    string
	URL       string
	Published time.Time // zero: unknown

	Recipe string       // that prepared it; empty: not known
	Packed []byte       // the body, packed by PackText; nil: not kept
	Exact  [16]byte     // hash of the normal form
	Blank  bool         // nothing to compare: matches nothing
	Text   compare.Text // the normal form; of what is compared
	Print  simhash.Print
	Sketch compare.Sketch

	Comparisons any // *match.Comparisons of Index.CompareAhead, for Index.Add; nil: none
}

// Withdrawal takes an item back.
type Withdrawal struct {
	ID       string
	Revision int64
	// Promote gives the lead to the oldest copy. Without it the text stays
	// indexed as blocked, and later copies are rejected.
	Promote bool
	Reason  string
}

// Mutation is one message of the ITEMS stream. With neither Article nor
// Withdraw it only advances the applied sequence: a dead letter.
type Mutation struct {
	Seq      uint64    // applied sequence: rises by one a message
	At       time.Time // the stream's timestamp: when the message arrived
	Article  *Article
	Withdraw *Withdrawal
}

// ID is the id of the mutation's item, empty for a dead letter.
func (m *Mutation) ID() string {
	switch {
	case m.Article != nil:
		return m.Article.ID
	case m.Withdraw != nil:
		return m.Withdraw.ID
	}
	return ""
}

// maxText bounds the length of an unpacked text: the wire's limit on texts,
// with room for what escaping adds.
const maxText = 4 << 20

var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxText))
)

// PackText compresses a body for Article.Packed. It may be called from several
// goroutines.
func PackText(body string) []byte { return encoder.EncodeAll([]byte(body), nil) }

// UnpackText is the inverse of PackText. A damaged text is an error: each carries
// a checksum.
func UnpackText(packed []byte) (string, error) {
	b, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		return "", fmt.Errorf("kept text: %w", err)
	}
	return string(b), nil
}
