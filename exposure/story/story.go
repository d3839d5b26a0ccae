// Package story knows which items tell the same story, and which of these tell it in the same words.
package story

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"jianguo/exposure/kernel"
	"jianguo/exposure/wire"
)

// Most is how many items a story has at most: further ones are in none.
const Most = 64

// Item is an item of a story, its telling, and how many characters that adds to an earlier one.
type Item struct {
	ID      string
	Telling uint32
	Adds    int
}

// Stories know which items tell the same story, as the catalogue says. Within a story, a telling is an item with its
// copies: texts that add nothing to each other. Only items of stories of two or more are kept, in memory, about 130
// bytes an item. An unknown item is a story of its own. New makes them. All methods may be called from any goroutine.
//
// An exposure is stored under its item alone. A filter asks for all items of a story instead, so that stories
// may merge and part at any time.
type Stories struct {
	seed  uint64
	ready atomic.Bool

	mu    sync.RWMutex
	sets  map[uint32]*set  // mu; by number
	items map[string]place // mu
	// mu; a bit for each hash, at most one in 16 is set: it sends most items away that are in no story.
	bits []uint64
}

// set is the items of one story.
type set struct{ items []Item }

// place is where an item is.
type place struct {
	*set
	at int
}

// New makes empty stories.
func New() *Stories {
	return &Stories{seed: rand.Uint64(), sets: map[uint32]*set{}, items: map[string]place{},
		bits: make([]uint64, 1<<10)}
}

// Ready says whether all stories are known.
func (s *Stories) Ready() bool { return s.ready.Load() }

// SetReady is called when everything that was published before the start has been given to Set.
func (s *Stories) SetReady() { s.ready.Store(true) }

// Len is the number of items of stories of two or more.
func (s *Stories) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.items)
}

// Others lists the other items of an item's story.
func (s *Stories) Others(id string) (others []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if p, ok := s.items[id]; ok {
		for i, other := range p.set.items {
			if i != p.at {
				others = append(others, other.ID)
			}
		}
	}
	return others
}

// Set says which items a story has from now on; with fewer than two it is forgotten. Its number is that of one of its
// tellings: a story with the number of another one is part of this one. An item is in the story that it was last in.
func (s *Stories) Set(number uint32, items []Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(number)
	if len(items) < 2 {
		return
	}
	now := &set{items}
	for at, it := range items {
		if it.Telling != number {
			s.forget(it.Telling)
		}
		s.items[it.ID] = place{now, at}
		if 16*len(s.items) > 64*len(s.bits) {
			s.bits = make([]uint64, 2*len(s.bits))
			for id := range s.items {
				s.setBit(id)
			}
		}
		s.setBit(it.ID)
	}
	s.sets[number] = now
}

func (s *Stories) forget(number uint32) {
	if was := s.sets[number]; was != nil {
		for _, it := range was.items {
			if s.items[it.ID].set == was {
				delete(s.items, it.ID)
			}
		}
		delete(s.sets, number)
	}
}

func (s *Stories) setBit(id string) {
	at := s.bit(wire.Key([]byte(id), s.seed))
	s.bits[at>>6] |= 1 << (at & 63)
}

// bit is the number of the bit of a hash.
func (s *Stories) bit(hash uint32) uint32 { return hash & uint32(64*len(s.bits)-1) }

// Found are the stories of the items of one request. Its memory may be used again.
type Found struct {
	hashes []uint32
	hits   []hit
	others []Item       // of these stories, one story after the other
	begin  map[*set]int // where the items of a story begin there
}

// hit is an item of the request that is in a story: where it is in others, and the story's items there.
type hit struct{ number, own, from, to int }

// Find looks up the items of a request.
func (f *Found) Find(s *Stories, q *wire.Query) {
	f.hashes, f.hits, f.others = q.Keys(f.hashes, s.seed), f.hits[:0], f.others[:0]
	if f.begin == nil {
		f.begin = map[*set]int{}
	}
	clear(f.begin)
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, hash := range f.hashes {
		at := s.bit(hash)
		if s.bits[at>>6]>>(at&63)&1 == 0 {
			continue
		}
		p, ok := s.items[string(q.ID(i))]
		if !ok {
			continue
		}
		from, ok := f.begin[p.set]
		if !ok {
			from = len(f.others)
			f.others = append(f.others, p.set.items...)
			f.begin[p.set] = from
		}
		f.hits = append(f.hits, hit{i, from + p.at, from, from + len(p.set.items)})
	}
}

// AppendKeys appends the keys of all items of the stories found, under the seed of a user.
func (f *Found) AppendKeys(keys []uint32, seed uint64) []uint32 {
	for i := range f.others {
		keys = append(keys, wire.Key([]byte(f.others[i].ID), seed))
	}
	return keys
}

// Spread marks an item of a request as held exactly if another one of its telling is held, and, with the scope story,
// if another telling is held and its own adds fewer characters than adds; adds 0: whatever it adds. keys and marks are
// those of the request's n items, and behind them those of AppendKeys.
func (f *Found) Spread(story bool, adds, n int, keys []uint32, marks []byte) {
	for _, h := range f.hits {
		own := &f.others[h.own]
		known := story && (adds == 0 || own.Adds < adds)
		for i := h.from; i < h.to; i++ {
			told := known || f.others[i].Telling == own.Telling
			if told && marks[n+i] != kernel.Unseen && keys[n+i] != keys[h.number] {
				marks[h.number] = kernel.Exact
			}
		}
	}
}
