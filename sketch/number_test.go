package sketch

import (
	"strings"
	"testing"
)

// A run of zeros was read to its end from each of its characters: 43,000 of them took 46 seconds.
func TestNumeralIsBounded(t *testing.T) {
	run := strings.Repeat("零", 2*numeralRunes)
	if x := readToken(run, 0); x.end != len("零") {
		t.Errorf("a run of %d zeros is read up to byte %d, want one character", 2*numeralRunes, x.end)
	}
	if x := readToken("二十三万零四百零五", 0); x.value != 230_405 {
		t.Errorf("二十三万零四百零五 = %v", x.value)
	}
}
