package exposure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"jianguo/exposure/kernel"
	"jianguo/exposure/wire"
)

// Where says which part of a state holds an item.
type Where struct {
	Item     string `json:"item"`
	Tail     bool   `json:"tail"`
	Ring     bool   `json:"ring"`
	Shard    int    `json:"shard"` // index of the newest shard that tests positive, -1 for none
	Excepted bool   `json:"excepted"`
	Seen     bool   `json:"seen"` // Filter would not return it
}

// ShardInfo describes one shard.
type ShardInfo struct {
	Month    string `json:"month,omitempty"` // Calendar: 2006-01
	Capacity int    `json:"capacity"`
	Keys     int    `json:"keys"`
	Bytes    int    `json:"bytes"`
}

// HistoryInfo is a user's state in one history.
type HistoryInfo struct {
	History    string      `json:"history"`
	Policy     string      `json:"policy"`
	Last       *time.Time  `json:"last,omitempty"` // newest exposure
	Expired    bool        `json:"expired"`
	Tail       int         `json:"tail"` // keys
	Delivered  int         `json:"delivered"`
	Exceptions int         `json:"exceptions"`
	Shards     []ShardInfo `json:"shards"`
	Bytes      int         `json:"bytes"` // as stored
	Rate       float64     `json:"false_positive_rate"`
	Linked     []string    `json:"linked,omitempty"` // users whose histories count as well
	Items      []Where     `json:"items,omitempty"`
}

// Query describes a user's state in the history of a scene, and says for each of the
// items given where it is held.
func (s *Store) Query(ctx context.Context, user, scene string, items []string) (HistoryInfo, error) {
	var info HistoryInfo
	if err := wire.CheckName("user", user, true); err != nil {
		return info, err
	}
	if err := wire.CheckName("scene", scene, false); err != nil {
		return info, err
	}
	if len(items) > MaxItems {
		return info, wire.TooLargef("items", "has %d ids, the limit is %d", len(items), MaxItems)
	}
	if err := s.Err(); err != nil {
		return info, err
	}
	history := s.history(scene)
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
	info.History = history
	v := e.st.look(pol, now, 1)
	seed := wire.Seed(&s.secret, user)
	for _, item := range items {
		key := []uint32{wire.Key([]byte(item), seed)}
		var mark [1]byte
		v.Mark(key, mark[:])
		info.Items = append(info.Items, Where{
			Item:     item,
			Tail:     slices.ContainsFunc(e.st.tail, func(t dated) bool { return t.key == key[0] }),
			Ring:     slices.ContainsFunc(e.st.ring, func(d delivered) bool { return d.key == key[0] }),
			Shard:    e.st.newestHolding(key[0]),
			Excepted: slices.Contains(e.st.excepted, key[0]),
			Seen:     mark[0] != kernel.Unseen,
		})
	}
	return info, nil
}

func (s *state) describe(p *Policy, now time.Time) HistoryInfo {
	info := HistoryInfo{Policy: p.String(), Tail: len(s.tail), Exceptions: len(s.excepted), Shards: []ShardInfo{}, Linked: s.links.From}
	if s.last != 0 {
		last := time.Unix(s.last, 0).In(now.Location())
		info.Last, info.Expired = &last, p.expired(last, now)
	}
	for _, d := range s.ring {
		if time.Unix(int64(d.minute)*60, 0).Add(RingTTL).After(now) {
			info.Delivered++
		}
	}
	for i := range s.shards {
		sh := &s.shards[i]
		si := ShardInfo{Capacity: int(sh.capacity), Keys: int(sh.count), Bytes: sh.bytes()}
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
