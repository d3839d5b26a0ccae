package buckets

// sorter sorts postings by their 48 lower key bits, keeping the order of equal
// ones. It keeps its buffers between calls.
type sorter struct{ sorted, tail, spare []Posting }

// merge writes the live postings of v, sorted, to the slots from at.
func (s *sorter) merge(p *page, at uint32, v View) {
	s.sorted, s.tail = s.sorted[:0], s.tail[:0]
	for i, o := range v.ordinals() {
		if o == dead {
			continue
		}
		q := Posting{v.low(i), o}
		if i < v.Sorted {
			s.sorted = append(s.sorted, q)
		} else {
			s.tail = append(s.tail, q)
		}
	}
	s.sortTail()
	a, b := s.sorted, s.tail
	for len(a)+len(b) > 0 {
		var q Posting
		if len(b) == 0 || len(a) > 0 && a[0].Key <= b[0].Key {
			q, a = a[0], a[1:]
		} else {
			q, b = b[0], b[1:]
		}
		p.put(at, q.Key, q.Ordinal)
		at++
	}
	// One hot bucket must not leave its buffers behind for good.
	if cap(s.sorted)+cap(s.tail) > 1<<20 {
		*s = sorter{}
	}
}

// sortTail sorts by radix, byte by byte, which is stable.
func (s *sorter) sortTail() {
	if cap(s.spare) < len(s.tail) {
		s.spare = make([]Posting, cap(s.tail))
	}
	for shift := 0; shift < 48; shift += 8 {
		var at [257]int
		for _, q := range s.tail {
			at[q.Key>>shift&0xff+1]++
		}
		for i := range 256 {
			at[i+1] += at[i]
		}
		out := s.spare[:len(s.tail)]
		for _, q := range s.tail {
			b := q.Key >> shift & 0xff
			out[at[b]] = q
			at[b]++
		}
		s.tail, s.spare = out, s.tail
	}
}
