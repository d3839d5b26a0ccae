package eval

import (
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/segment"
	"jianguo/simhash"
)

// texts is what the other rules see of a corpus: fingerprints and exact hashes
// of our own normal form, in order of arrival.
type texts struct {
	cfg    *Config
	items  []*ingest.Item
	prints []simhash.Print
	exact  [][16]byte
	blank  []bool
	// first is the earliest item with the same normal form, itself where it is
	// the earliest; -1 for a blank one.
	first []int
}

func (b *Bench) others() *texts {
	n := len(b.items)
	c := &texts{cfg: &b.cfg, items: b.items, prints: make([]simhash.Print, n), exact: make([][16]byte, n), blank: make([]bool, n), first: make([]int, n)}
	_ = parallel(b.cfg.Workers, n, func(i int) error {
		a := b.prepare(b.items[i])
		c.prints[i], c.exact[i], c.blank[i] = a.Print, a.Exact, a.Blank
		return nil
	})
	seen := map[[16]byte]int{}
	for i := range n {
		if c.blank[i] {
			c.first[i] = -1
			continue
		}
		if _, ok := seen[c.exact[i]]; !ok {
			seen[c.exact[i]] = i
		}
		c.first[i] = seen[c.exact[i]]
	}
	return c
}

// content is the normal form of an item.
func (c *texts) content(i int) string { return content(c.article(i)) }

func (c *texts) article(i int) *index.Article {
	return ingest.Prepare(c.cfg.Segmenter, new(segment.Text), c.items[i])
}

// scan is the textbook rule at any distance, without an index: the nearest
// accepted item within it, the oldest of several, is the original.
func (c *texts) scan(distance int) []int {
	of := make([]int, len(c.items))
	var accepted []int
	for i := range c.items {
		of[i] = -1
		if c.first[i] >= 0 && c.first[i] < i {
			of[i] = c.original(of, c.first[i])
			continue
		}
		if c.prints[i].Empty() {
			continue
		}
		best := distance + 1
		for _, k := range accepted {
			if d := hamming(c.prints[i].Fingerprint, c.prints[k].Fingerprint); d < best {
				best, of[i] = d, k
			}
		}
		if of[i] < 0 {
			accepted = append(accepted, i)
		}
	}
	return of
}

// original is i, or what i was a copy of.
func (c *texts) original(of []int, i int) int {
	if of[i] >= 0 {
		return of[i]
	}
	return i
}

// lsh rejects what meets an accepted item in the tables, unchecked, as the
// libraries' query does.
func (c *texts) lsh(threshold float64) []int {
	of := make([]int, len(c.items))
	m := NewMinHash(threshold)
	const batch = 1024
	for from := 0; from < len(c.items); from += batch {
		n := min(batch, len(c.items)-from)
		signatures := make([]*Signature, n)
		_ = parallel(c.cfg.Workers, n, func(i int) error {
			signatures[i] = m.Sign(c.content(from + i))
			return nil
		})
		for k, s := range signatures {
			i := from + k
			if of[i] = -1; c.blank[i] {
				continue
			}
			if of[i] = m.First(s); of[i] < 0 {
				m.Add(s, i)
			}
		}
		c.cfg.Progress(m.Name(), int64(from+n), int64(len(c.items)))
	}
	return of
}
