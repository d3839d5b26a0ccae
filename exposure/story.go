package exposure

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"jianguo/exposure/kernel"
	"jianguo/exposure/wire"
)

// mostTold is how many items a story has at most. A further copy begins another story.
const mostTold = 64

// Stories know which items tell the same story: an item and what it was published as a copy of, and what that is
// a copy of. Only items of stories of two or more are kept, in memory, about 110 bytes an item. An unknown item
// is a story of its own. NewStories makes them. All methods may be called from any goroutine.
//
// An exposure is stored under its item alone. A filter asks for all items of a story instead, so that stories
// may merge and part at any time.
type Stories struct {
	seed  uint64
	ready atomic.Bool

	mu    sync.RWMutex
	items map[string]*storyItem // mu
	// mu; a bit for each hash, at most one in 16 is set: it sends most items away that are in no story.
	bits []uint64
}

// storyItem is an item of a story. All of its fields are under Stories.mu.
type storyItem struct {
	id    string
	of    *storyItem // that it was published as a copy of, or nil
	story *storySet
}

// storySet is the items of one story.
type storySet struct{ items []*storyItem }

// NewStories makes empty stories.
func NewStories() *Stories {
	return &Stories{seed: rand.Uint64(), items: map[string]*storyItem{}, bits: make([]uint64, 1<<10)}
}

// Ready says whether all stories are known.
func (s *Stories) Ready() bool { return s.ready.Load() }

// SetReady is called when everything that was published before the start has been given to Link.
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
	if it := s.items[id]; it != nil {
		for _, other := range it.story.items {
			if other != it {
				others = append(others, other.id)
			}
		}
	}
	return others
}

// Link says that an item was published as a copy of another one, and no longer of any that was named before.
func (s *Stories) Link(id, of string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, b := s.item(id), s.item(of)
	if a.of == b {
		return
	}
	a.of = b
	s.again(append(slices.Clone(a.story.items), b.story.items...))
}

// Unlink says that an item is no copy.
func (s *Stories) Unlink(id string) {
	s.mu.RLock()
	a := s.items[id]
	s.mu.RUnlock()
	if a == nil || a.of == nil { // there is one goroutine that changes them
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a.of = nil
	s.again(slices.Clone(a.story.items))
}

func (s *Stories) item(id string) *storyItem {
	it := s.items[id]
	if it == nil {
		it = &storyItem{id: id}
		it.story = &storySet{[]*storyItem{it}}
		s.items[id] = it
		if 16*len(s.items) > 64*len(s.bits) {
			s.bits = make([]uint64, 2*len(s.bits))
			for id := range s.items {
				s.setBit(id)
			}
		}
		s.setBit(id)
	}
	return it
}

func (s *Stories) setBit(id string) {
	at := s.bit(wire.Key([]byte(id), s.seed))
	s.bits[at>>6] |= 1 << (at & 63)
}

// bit is the number of the bit of a hash.
func (s *Stories) bit(hash uint32) uint32 { return hash & uint32(64*len(s.bits)-1) }

// again joins the items of some stories again, as their links say. Those that remain alone are forgotten.
func (s *Stories) again(items []*storyItem) {
	for _, it := range items {
		it.story = &storySet{[]*storyItem{it}}
	}
	for _, it := range items {
		if it.of == nil || it.story == it.of.story {
			continue
		}
		a, b := it.story, it.of.story
		if len(a.items)+len(b.items) > mostTold {
			it.of = nil
			continue
		}
		b.items = append(b.items, a.items...)
		for _, moved := range a.items {
			moved.story = b
		}
	}
	for _, it := range items {
		if len(it.story.items) == 1 {
			delete(s.items, it.id)
		}
	}
}

// foundStories are the stories of the items of one request. Its memory may be used again.
type foundStories struct {
	hashes []uint32
	hits   []storyHit
	others []string // items of these stories, one story after the other
}

// storyHit is an item of the request that is in a story, and the story's items in others.
type storyHit struct{ number, from, to int }

// Find looks up the items of a request.
func (f *foundStories) Find(s *Stories, q *wire.Query) {
	f.hashes, f.hits, f.others = q.Keys(f.hashes, s.seed), f.hits[:0], f.others[:0]
	s.mu.RLock()
	defer s.mu.RUnlock()
	var known map[*storySet]storyHit
	for i, hash := range f.hashes {
		at := s.bit(hash)
		if s.bits[at>>6]>>(at&63)&1 == 0 {
			continue
		}
		it := s.items[string(q.ID(i))]
		if it == nil {
			continue
		}
		h, ok := known[it.story]
		if !ok {
			h.from = len(f.others)
			for _, other := range it.story.items {
				f.others = append(f.others, other.id)
			}
			h.to = len(f.others)
			if known == nil {
				known = map[*storySet]storyHit{}
			}
			known[it.story] = h
		}
		h.number = i
		f.hits = append(f.hits, h)
	}
}

// AppendKeys appends the keys of all items of the stories found, under the seed of a user.
func (f *foundStories) AppendKeys(keys []uint32, seed uint64) []uint32 {
	for _, id := range f.others {
		keys = append(keys, wire.Key([]byte(id), seed))
	}
	return keys
}

// Spread marks an item of a request as held exactly if another one of its story is held. keys and marks are
// those of the request's n items, and behind them those of AppendKeys.
func (f *foundStories) Spread(n int, keys []uint32, marks []byte) {
	for _, h := range f.hits {
		for i := n + h.from; i < n+h.to; i++ {
			if marks[i] != kernel.Unseen && keys[i] != keys[h.number] {
				marks[h.number] = kernel.Exact
			}
		}
	}
}
