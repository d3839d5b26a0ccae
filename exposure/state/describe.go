package state

import (
	"fmt"
	"slices"
	"time"

	"jianguo/exposure/kernel"
	"jianguo/exposure/trace"
)

// Find says where the state holds an item. v is its view.
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
		info.Bytes += len(appendHead(nil, s, Address{}))
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
