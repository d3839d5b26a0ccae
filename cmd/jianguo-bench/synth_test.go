package main

import (
	"testing"

	"jianguo/simhash"
)

func TestPopulation(t *testing.T) {
	p := population{familySize: 50}
	const n = 50000
	families, relatives := map[uint64][]simhash.Fingerprint{}, 0
	for i := range uint64(n) {
		fp := p.print(i).Fingerprint
		if f, ok := p.family(i); ok {
			families[f] = append(families[f], fp)
			relatives++
		}
	}
	if relatives < n/200 || relatives > n/50 || len(families) < n/100/50 {
		t.Errorf("%d of %d items in %d families", relatives, n, len(families))
	}
	for _, members := range families {
		total := 0
		for _, m := range members {
			total += simhash.Distance(m, members[0])
		}
		if mean := total / len(members); mean > 20 {
			t.Errorf("members of a family differ by %d bits", mean)
		}
	}
	bits := 0
	for i := range uint64(1000) {
		c := p.copy(i, 1, 0.1)
		bits += simhash.Distance(c.Fingerprint, p.print(i).Fingerprint)
	}
	if bits < 4000 || bits > 8000 {
		t.Errorf("a thousand copies differ by %d bits", bits)
	}
}
