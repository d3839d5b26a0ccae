// Package size says what users take under a policy, by formula. The service does not need it.
package size

import (
	"encoding/binary"
	"math"

	"jianguo/exposure"
	"jianguo/exposure/state"
)

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
	Rate       float64 // false-positive rate of the whole: 1 - Π(1 - (1-e^(-kn/m))^k)
}

// Sizes derives, without building anything, what a user with each number of seen ids takes: the tail folds
// and shards fill as in package exposure. Days are all one day.
func Sizes(p exposure.Policy, keys ...int) ([]Size, error) {
	p, err := exposure.ParsePolicy(p.String()) // with every default
	if err != nil {
		return nil, err
	}
	var out []Size
	for _, n := range keys {
		out = append(out, sizeOf(&p, n))
	}
	return out, nil
}

type shard struct{ capacity, count int }

func sizeOf(p *exposure.Policy, n int) Size {
	tail, folded := n, 0
	if n > p.Tail {
		// The first fold leaves a quarter; from then on each time half is exceeded.
		keep, limit := p.Tail/4, p.Tail/2
		step := limit + 1 - keep
		first := p.Tail + 1
		folded = first - keep + (n-first)/step*step
		tail = n - folded
	}
	z := Size{Keys: n, Tail: tail, Remembered: tail, Bytes: tailBytes(tail)}
	miss := 1.0
	shards := fill(p, folded)
	for _, sh := range shards {
		m, k := p.Geometry(sh.capacity)
		z.Remembered += sh.count
		z.Bytes += state.ShardBytes(m) + entryBytes(sh, m)
		if sh.capacity > p.Capacity {
			z.Large++
		} else {
			z.Small++
		}
		miss *= 1 - math.Pow(1-math.Exp(-float64(k)*float64(sh.count)/float64(m)), float64(k))
	}
	z.Rate = 1 - miss
	z.Theory = float64(z.Remembered) * math.Log2(1/p.Target) / 8
	z.Bloom = z.Theory / math.Ln2
	return z
}

// fill puts keys into shards, and drops the oldest shard where all slots are taken.
func fill(p *exposure.Policy, keys int) (shards []shard) {
	for keys > 0 {
		small := 0
		for _, sh := range shards {
			if sh.capacity <= p.Capacity {
				small++
			}
		}
		next := shard{capacity: p.Capacity}
		if p.Large > 0 && (small < len(shards) || small >= p.Small) {
			next.capacity = p.Large
		}
		next.count = min(keys, next.capacity)
		keys -= next.count
		if len(shards) == p.Slots {
			shards = shards[1:]
		}
		shards = append(shards, next)
	}
	return shards
}

func uvarint(v int) int { return len(binary.AppendUvarint(nil, uint64(v))) }

// tailBytes is the size of a head without shards; codec.go of package exposure has its format.
func tailBytes(tail int) int {
	const version, last, counts, checksum = 1, 5, 4, 4
	n := version + last + counts + checksum
	if tail > 0 {
		const days = 3
		n += days + uvarint(tail) + 4*tail
	}
	return n
}

// entryBytes is what a shard takes in the head, with a row number as long as a large file has.
func entryBytes(sh shard, m uint32) int {
	const row, k, epoch = 5, 1, 1
	return row + uvarint(sh.capacity) + uvarint(sh.count) + uvarint(int(m)) + k + epoch
}
