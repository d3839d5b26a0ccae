//go:build !amd64

package exposure

func mapQuotes(b []byte, to []uint64) (has byte) { return mapQuotesGo(b, to) }
