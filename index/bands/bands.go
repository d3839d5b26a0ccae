// Package bands holds postings in memory: which exemplars have which 16-bit
// key in which band.
package bands

import "jianguo/simhash"

// Hit is a posting that a look-up proposes.
type Hit struct {
	Fingerprint simhash.Fingerprint
	Ordinal     uint32
}
