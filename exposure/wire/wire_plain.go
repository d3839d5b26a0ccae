//go:build !amd64 || purego

package wire

// haveAVX2 is for tests.
var haveAVX2 bool

func hashVector([]span, []byte, []uint32, uint64) int { return 0 }

func (q *Query) scanVector(i int) int { return i }

func mapQuotes(b []byte, to []uint64) (has byte) { return mapQuotesPlain(b, to) }
