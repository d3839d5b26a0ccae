package exposure

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Share is a part of a user base: so many of every Of users have seen Keys ids.
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

// Sizes derives, without building anything, what a user with each number of seen
// ids takes: the tail folds and shards fill as in state.go, m and k come from the
// policy, and a head is encoded to be measured. Days are all one day.
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

// WriteSizes prints what a user of each share takes, what all of them take, and, where
// rate (exposures a second, all users) is given, how much a day is written to the log.
func WriteSizes(w io.Writer, p Policy, users int64, mix []Share, rate float64) error {
	p, err := p.withDefaults()
	if err != nil {
		return err
	}
	m, k := p.geometry(p.Capacity)
	fmt.Fprintf(w, "policy %s\n", p)
	fmt.Fprintf(w, "p a shard = 0.8 × %g / %d = %.3g\n", p.Target, p.slots(), p.ShardRate())
	fmt.Fprintf(w, "shard of %d: m = -n·ln p / ln²2 = %d bits, k = %d, %d bytes\n", p.Capacity, m, k, shardBytes(m))
	if p.Large > 0 {
		m, k = p.geometry(p.Large)
		fmt.Fprintf(w, "shard of %d: m = %d bits, k = %d, %d bytes\n", p.Large, m, k, shardBytes(m))
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\nshare\tseen\tknown\ttail\tsmall\tlarge\tbytes\tn·log2(1/p)\tone Bloom\trate\t")
	var mean, keys float64
	for _, share := range mix {
		z := sizeOf(&p, share.Keys)
		fmt.Fprintf(tw, "%.3g %%\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f\t%.0f\t%.5f %%\t\n",
			100*share.Part, z.Keys, z.Remembered, z.Tail, z.Small, z.Large, z.Bytes, z.Theory, z.Bloom, 100*z.Rate)
		mean += share.Part * float64(z.Bytes)
		keys += share.Part * float64(share.Keys)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if users > 0 {
		fmt.Fprintf(w, "\n%d users, %.0f ids each on average: %.0f bytes a user, %.2f GB in all\n",
			users, keys, mean, mean*float64(users)/1e9)
	}
	if rate > 0 {
		const entry = 110 // bytes in the stream of an event with one id of 14 characters
		fmt.Fprintf(w, "%.0f exposures a second: %.1f GB a day through the log as single events of about %d bytes\n",
			rate, rate*86400*entry/1e9, entry)
	}
	return nil
}
