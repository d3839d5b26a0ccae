// Package userbase describes how much the users of a platform have seen, for estimates and
// measurements.
package userbase

import (
	"fmt"
	"strconv"
	"strings"
)

// Share is a part of the users, of whom each has seen Keys ids.
type Share struct {
	Part float64 // of one
	Keys int
}

// ParseMix reads "60x50,30x500,10x20000": shares of the users, by any total, and the
// ids each of them has seen.
func ParseMix(s string) ([]Share, error) {
	var mix []Share
	total := 0.0
	for part := range strings.SplitSeq(s, ",") {
		a, b, ok := strings.Cut(strings.TrimSpace(part), "x")
		share, err1 := strconv.ParseFloat(a, 64)
		keys, err2 := strconv.Atoi(b)
		if !ok || err1 != nil || err2 != nil || share <= 0 || keys < 0 || keys > 1<<30 {
			return nil, fmt.Errorf("exposure: mix %q: %q is not a share x ids, such as 60x50", s, part)
		}
		mix = append(mix, Share{share, keys})
		total += share
	}
	for i := range mix {
		mix[i].Part /= total
	}
	return mix, nil
}
