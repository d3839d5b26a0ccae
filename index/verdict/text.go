package verdict

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

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
