package ingest

import (
	"jianguo/segment"
	"jianguo/simhash"
)

// Fingerprint sums the terms of a text.
func Fingerprint(t *segment.Text) simhash.Print {
	var s simhash.Sum
	for i := range t.Terms {
		s.Add(t.Terms[i].Hash, t.Terms[i].Weight)
	}
	return s.Print()
}
