package exposure

func mapQuotes(b []byte, to []uint64) (has byte) {
	if !haveAVX2 || len(b) == 0 {
		return mapQuotesGo(b, to)
	}
	_ = to[len(b)/64-1]
	return mapQuotesAVX2(&b[0], len(b)/64, &to[0])
}

// mapQuotesAVX2 maps n ≥ 1 blocks of 64 bytes.
//
//go:noescape
func mapQuotesAVX2(b *byte, n int, to *uint64) (has byte)
