package exposure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"jianguo/exposure/kernel"
	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
)

// HistoryInfo is a user's state in one history.
type HistoryInfo = trace.History

// Query describes a user's state in the histories of a scene, those that it writes first, and says for each of the
// items given where it is held.
func (s *Store) Query(ctx context.Context, user, scene string, items []string) (HistoryInfo, error) {
	var info HistoryInfo
	if err := s.checkQuery(user, scene, items); err != nil {
		return info, err
	}
	var list []HistoryInfo
	for _, history := range s.scene(scene).all() {
		h, err := s.queryIn(ctx, history, user, items)
		if err != nil {
			return info, err
		}
		list = append(list, h)
	}
	if len(list) > 0 {
		info = list[0]
		info.Others = list[1:]
	}
	return info, nil
}

func (s *Store) checkQuery(user, scene string, items []string) error {
	if err := wire.CheckName("user", user, true); err != nil {
		return err
	}
	if err := wire.CheckName("scene", scene, false); err != nil {
		return err
	}
	if len(items) > MaxItems {
		return wire.TooLargef("items", "has %d ids, the limit is %d", len(items), MaxItems)
	}
	return s.Err()
}

func (s *Store) queryIn(ctx context.Context, history, user string, items []string) (info HistoryInfo, err error) {
	pol := s.policies[history]
	g, e, _ := s.entry(history, []byte(address(history, user)))
	e.mu.Lock()
	defer func() {
		w := e.weigh()
		e.mu.Unlock()
		g.release(e, w, true)
	}()
	r := s.db.rows(ctx)
	if err := s.load(e, r); err != nil {
		return info, err
	}
	if err := e.st.need(r.fetch, 0, len(e.st.shards)); err != nil {
		return info, err
	}
	now := s.cfg.Clock().In(s.cfg.Location)
	info = e.st.describe(pol, now)
	info.User, info.History, info.Kinds = user, history, s.cfg.Kinds[history]
	v := e.st.look(pol, now, 1)
	seed := wire.Seed(&s.secret, user)
	for _, item := range items {
		info.Items = append(info.Items, e.st.find(pol, v, now, item, wire.Key([]byte(item), seed)))
	}
	return info, nil
}

// find says where the state holds an item. v is its view.
func (s *state) find(p *Policy, v *view, now time.Time, item string, key uint32) trace.Where {
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
			at = at.In(now.Location())
			w.DeliveredAt = &at
		}
	}
	return w
}

func (s *state) describe(p *Policy, now time.Time) HistoryInfo {
	info := HistoryInfo{Policy: p.String(), Tail: len(s.tail), Exceptions: len(s.excepted), Shards: []trace.Shard{}, Linked: s.links.From, Imported: s.links.Imported}
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
		si := trace.Shard{Capacity: int(sh.capacity), Keys: int(sh.count), Bytes: sh.bytes(), Rate: theoreticalRate(s.shards[i : i+1])}
		if p.Kind == Calendar {
			si.Month = fmt.Sprintf("%04d-%02d", sh.epoch/12, sh.epoch%12+1)
		}
		info.Shards = append(info.Shards, si)
		info.Bytes += si.Bytes
	}
	if !s.empty() {
		info.Bytes += len(appendHead(nil, s, ""))
	}
	info.Rate = s.rate(p, now)
	return info
}
