package state

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bits-and-blooms/bloom/v3"

	"jianguo/exposure/kernel"
	"jianguo/exposure/trace"
)

// cacheFrom is the number of requests from which on a loaded state keeps its view.
const cacheFrom = 2

// View builds the view of a state at a time. hits is the number of requests the state has
// served since it was loaded: the first few views are not cached. All shards must be in memory.
func (s *State) View(p *Policy, now time.Time, hits int) *View {
	v := new(View)
	v.Until, v.Links = math.MaxInt64, s.Links
	if s.expired(p, now) {
		v.Set.Reset(0)
		return v
	}
	v.Until = p.NextBoundary(time.Unix(s.last, 0), now).Unix()
	s.addExact(v, p, now)
	v.Rate = s.rate(p, now)
	v.Excepted = slices.Clone(s.excepted)
	oldest := p.OldestEpoch(now)
	if v.Lanes = s.lanes; v.Lanes == nil || s.lanesFrom != oldest {
		v.Lanes = kernel.NewLanes(s.filters(oldest))
	}
	if hits >= cacheFrom {
		s.view, s.lanes, s.lanesFrom = v, v.Lanes, oldest
	}
	return v
}

// addExact puts the keys that tail and ring hold at a time into the view.
func (s *State) addExact(v *View, p *Policy, now time.Time) {
	oldest := p.OldestEpoch(now)
	v.Set.Reset(len(s.tail) + len(s.ring))
	for _, t := range s.tail {
		if p.Kind == Rotate || MonthOf(t.day) >= oldest {
			v.Set.Add(t.key)
		}
	}
	for _, d := range s.ring {
		if end := int64(d.minute)*60 + int64(RingTTL/time.Second); end > now.Unix() {
			v.Set.Add(d.key)
			v.Until = min(v.Until, end)
		}
	}
}

// filters lists the Bloom filters of all shards, nil for those that are not read.
func (s *State) filters(oldest int32) []*bloom.BloomFilter {
	out := make([]*bloom.BloomFilter, len(s.shards))
	for i := range s.shards {
		if sh := &s.shards[i]; sh.epoch >= oldest && sh.count > 0 {
			out[i] = sh.filter
		}
	}
	return out
}

// theoreticalRate is the chance that a key never seen tests positive in at least
// one of the shards given by their (m, k, keys): 1 - Π(1 - (1-e^(-kn/m))^k).
func theoreticalRate(shards []Shard) float64 {
	miss := 1.0
	for i := range shards {
		k := float64(shards[i].k)
		fill := 1 - math.Exp(-k*float64(shards[i].count)/float64(shards[i].m))
		miss *= 1 - math.Pow(fill, k)
	}
	return 1 - miss
}

// rate is the theoretical rate of the shards that are read at a time.
func (s *State) rate(p *Policy, now time.Time) float64 {
	from, oldest := 0, p.OldestEpoch(now)
	for from < len(s.shards) && s.shards[from].epoch < oldest {
		from++
	}
	return theoreticalRate(s.shards[from:])
}

func (s *State) Find(p *Policy, v *View, now time.Time, item string, key uint32) trace.Where {
	marks := make([]byte, 1)
	v.Mark([]uint32{key}, marks)
	tail := slices.IndexFunc(s.tail, func(t dated) bool { return t.key == key })
	ring := slices.IndexFunc(s.ring, func(d delivered) bool { return d.key == key })
	w := trace.Where{Item: item, Tail: tail >= 0, Ring: ring >= 0, Shard: s.newestHolding(key),
		Excepted: slices.Contains(s.excepted, key), Seen: marks[0] != kernel.Unseen}
	if marks[0] != kernel.Exact {
		return w
	}
	if tail >= 0 && p.EpochOf(s.tail[tail].day) >= p.OldestEpoch(now) {
		w.Day = s.tail[tail].day.String()
	}
	if ring >= 0 {
		if at := s.ring[ring].at(); at.Add(RingTTL).After(now) {
			w.DeliveredAt = new(at.In(now.Location()))
		}
	}
	return w
}

func (s *State) Describe(p *Policy, now time.Time) trace.History {
	info := trace.History{Policy: p.String(), Tail: len(s.tail), Exceptions: len(s.excepted), Shards: []trace.Shard{},
		Linked: s.Links.From, Imported: s.Links.Imported}
	if len(s.tail) > 0 {
		info.TailFrom = s.tail[0].day.String()
	}
	if s.last != 0 {
		last := time.Unix(s.last, 0).In(now.Location())
		info.Last, info.Expired = &last, p.Expired(last, now)
	}
	for _, d := range s.ring {
		if d.at().Add(RingTTL).After(now) {
			info.Delivered++
		}
	}
	for i := range s.shards {
		sh := &s.shards[i]
		si := trace.Shard{Capacity: int(sh.capacity), Keys: int(sh.count), Bytes: sh.bytes(),
			Rate: theoreticalRate(s.shards[i : i+1])}
		if p.Kind == Calendar {
			si.Month = fmt.Sprintf("%04d-%02d", sh.epoch/12, sh.epoch%12+1)
		}
		info.Shards = append(info.Shards, si)
		info.Bytes += si.Bytes
	}
	if !s.Empty() {
		info.Bytes += len(encodeHead(s, Address{}))
	}
	info.Rate = s.rate(p, now)
	return info
}

// String is what a state remembers, whatever the rows of its shards: equal states have equal strings. All
// shards must be in memory.
func (s *State) String() string {
	b := fmt.Appendf(nil, "last %d excepted %v ring %v tail %v", s.last, s.excepted, s.ring, s.tail)
	for i := range s.shards {
		sh := &s.shards[i]
		b = fmt.Appendf(b, " shard %d %d %d %d %d %x",
			sh.epoch, sh.capacity, sh.count, sh.m, sh.k, sh.filter.BitSet().Words())
	}
	return fmt.Sprintf("%s links %v %v", b, s.Links.From, s.Links.Into)
}
