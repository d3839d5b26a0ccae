package exposure

import "math"

// Size is what one user with so many seen ids takes under a policy.
type Size struct {
	Keys       int     // seen
	Remembered int     // of them, still known
	Tail       int     // keys in the tail
	Small      int     // shards of Policy.Capacity
	Large      int     // shards of Policy.Large
	Bytes      int     // head and shards, as stored
	Theory     float64 // bytes of any structure with that error: n·log2(1/Target)/8 (Carter et al. 1978)
	Bloom      float64 // bytes of one Bloom filter made to measure: 1/ln 2 times that (Bloom 1970)
	Rate       float64 // false-positive rate of the whole, by formula
}

// Sizes derives, without building anything, what a user with each number of seen ids takes: the tail
// folds and shards fill as in state.go, and a head is encoded to be measured. Days are all one day.
func Sizes(p Policy, keys ...int) ([]Size, error) {
	p, err := p.withDefaults()
	if err != nil {
		return nil, err
	}
	var out []Size
	for _, n := range keys {
		out = append(out, sizeOf(&p, n))
	}
	return out, nil
}

func sizeOf(p *Policy, n int) Size {
	s := &state{last: 1 << 30}
	tail, folded := n, 0
	if n > p.Tail {
		// The first fold leaves a quarter; from then on each time half is exceeded.
		keep, limit := p.Tail/4, p.Tail/2
		step := limit + 1 - keep
		first := p.Tail + 1
		folded = first - keep + (n-first)/step*step
		tail = n - folded
	}
	shards := folded
	for shards > 0 {
		i := s.open(p, 0)
		sh := &s.shards[i]
		sh.id = 1 << 31 // as long a row number as a large file has
		add := min(shards, int(sh.capacity-sh.count))
		sh.count += uint32(add)
		shards -= add
	}
	z := Size{Keys: n, Tail: tail, Remembered: tail, Rate: theoreticalRate(s.shards)}
	for i := range s.shards {
		sh := &s.shards[i]
		z.Remembered += int(sh.count)
		z.Bytes += sh.bytes()
		if int(sh.capacity) > p.Capacity {
			z.Large++
		} else {
			z.Small++
		}
	}
	s.tail = make([]dated, tail)
	for i := range s.tail {
		s.tail[i] = dated{1, 19000}
	}
	z.Bytes += len(appendHead(nil, s, ""))
	z.Theory = float64(z.Remembered) * math.Log2(1/p.Target) / 8
	z.Bloom = z.Theory / math.Ln2
	return z
}
