package index

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// maxText bounds what a packed text may unpack to: the wire's limit on texts,
// with room for what escaping adds.
const maxText = 4 << 20

var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxText))
)

// PackText compresses a body for Article.Packed. It may be called from several
// goroutines.
func PackText(body string) []byte { return encoder.EncodeAll([]byte(body), nil) }

func unpackText(packed []byte) (string, error) {
	b, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		return "", fmt.Errorf("kept text: %w", err)
	}
	return string(b), nil
}
