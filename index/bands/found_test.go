package bands

import (
	"math"
	"testing"
)

// A case that TestOperations found once: a posting is found by every query within distance 1,
// whichever bit it differs in.
func TestBucketIsFoundAtEveryBit(t *testing.T) {
	b := New()
	var want []Hit
	for ordinal := range uint32(40) {
		b.Add(0, ordinal)
		want = append(want, Hit{0, ordinal})
	}
	for bit := range 64 {
		sameHits(t, "hamming", want, b.Hamming(nil, 1<<bit, 1, math.MaxInt))
	}
}
