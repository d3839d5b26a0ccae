// Package story knows which items tell the same story, and which of these tell it in the same words.
package story

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"jianguo/exposure/kernel"
	"jianguo/exposure/wire"
)

// Most is how many items a story has at most. A further one begins another story. Rejected copies take half of them
// at most, so that there is room for what is published.
const Most = 64

// Rejected, instead of the characters that an item adds, says that it is a copy that was not published.
const Rejected = -1

// Stories know which items tell the same story: an item and what it is a copy of or suspected to be, and what that is
// a copy of. Within a story, a telling is an item with its copies: texts that add nothing to each other. Only items of
// stories of two or more are kept, in memory, about 130 bytes an item. An unknown item is a story of its own.
// New makes them. All methods may be called from any goroutine.
//
// An exposure is stored under its item alone. A filter asks for all items of a story instead, so that stories
// may merge and part at any time.
type Stories struct {
	seed  uint64
	ready atomic.Bool

	mu    sync.RWMutex
	items map[string]*item // mu
	// mu; a bit for each hash, at most one in 16 is set: it sends most items away that are in no story.
	bits []uint64
}

// item is an item of a story. All of its fields are under Stories.mu.
type item struct {
	id      string
	of      *item // that it is a copy of, or adds something to; or nil
	adds    int   // characters, to of; 0: none; or Rejected
	story   *set
	telling *item // one of its telling, the same for all of these
}

// set is the items of one story.
type set struct{ items []*item }

// New makes empty stories.
func New() *Stories {
	return &Stories{seed: rand.Uint64(), items: map[string]*item{}, bits: make([]uint64, 1<<10)}
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

// Link says that an item tells the story of another one, and no longer of any that was named before; adds is how many
// characters it adds, 0 for a copy, or Rejected.
func (s *Stories) Link(id, of string, adds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, b := s.item(id), s.item(of)
	if a.of == b && a.adds == adds {
		return
	}
	a.of, a.adds = b, adds
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
	a.of, a.adds = nil, 0
	s.again(slices.Clone(a.story.items))
}

func (s *Stories) item(id string) *item {
	it := s.items[id]
	if it == nil {
		it = &item{id: id}
		it.story, it.telling = &set{[]*item{it}}, it
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
func (s *Stories) again(items []*item) {
	for _, it := range items {
		it.story, it.telling = &set{[]*item{it}}, it
	}
	for _, it := range items {
		if it.of == nil {
			continue
		}
		a, b := it.story, it.of.story
		most := Most
		if it.adds == Rejected {
			most /= 2
		}
		if a != b && len(a.items)+len(b.items) > most {
			it.of, it.adds = nil, 0
			continue
		}
		if a != b {
			b.items = append(b.items, a.items...)
			for _, moved := range a.items {
				moved.story = b
			}
		}
		if from, to := it.telling, it.of.telling; it.adds <= 0 && from != to {
			for _, moved := range b.items {
				if moved.telling == from {
					moved.telling = to
				}
			}
		}
	}
	for _, it := range items {
		if len(it.story.items) == 1 {
			delete(s.items, it.id)
		}
	}
}

// Found are the stories of the items of one request. Its memory may be used again.
type Found struct {
	hashes []uint32
	hits   []hit
	others []toldItem // items of these stories, one story after the other
}

// toldItem is an item of a story: its telling, the same for all items of one, and how many characters that adds to an
// earlier telling.
type toldItem struct {
	id      string
	telling int
	adds    int
}

// hit is an item of the request that is in a story: its telling, and the story's items in others.
type hit struct{ number, from, to, telling int }

// Find looks up the items of a request.
func (f *Found) Find(s *Stories, q *wire.Query) {
	f.hashes, f.hits, f.others = q.Keys(f.hashes, s.seed), f.hits[:0], f.others[:0]
	s.mu.RLock()
	defer s.mu.RUnlock()
	var known map[*set]hit
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
			f.append(it.story.items)
			h.to = len(f.others)
			if known == nil {
				known = map[*set]hit{}
			}
			known[it.story] = h
		}
		h.number, h.telling = i, f.others[h.from+slices.Index(it.story.items, it)].telling
		f.hits = append(f.hits, h)
	}
}

// append appends the items of a story. A telling is named by the place of its representative in others.
func (f *Found) append(items []*item) {
	from := len(f.others)
	for _, it := range items {
		f.others = append(f.others, toldItem{id: it.id, telling: from + slices.Index(items, it.telling)})
	}
	told := f.others[from:]
	for i, it := range items {
		first := &told[told[i].telling-from]
		first.adds = max(first.adds, it.adds)
	}
	for i := range told {
		told[i].adds = told[told[i].telling-from].adds
	}
}

// AppendKeys appends the keys of all items of the stories found, under the seed of a user.
func (f *Found) AppendKeys(keys []uint32, seed uint64) []uint32 {
	for i := range f.others {
		keys = append(keys, wire.Key([]byte(f.others[i].id), seed))
	}
	return keys
}

// Spread marks an item of a request as held exactly if another one of its telling is held, and, with the scope story,
// if another telling is held and its own adds fewer characters than adds; adds 0: whatever it adds. keys and marks are
// those of the request's n items, and behind them those of AppendKeys.
func (f *Found) Spread(story bool, adds, n int, keys []uint32, marks []byte) {
	for _, h := range f.hits {
		known := story && (adds == 0 || f.others[h.telling].adds < adds)
		for i := h.from; i < h.to; i++ {
			told := known || f.others[i].telling == h.telling
			if told && marks[n+i] != kernel.Unseen && keys[n+i] != keys[h.number] {
				marks[h.number] = kernel.Exact
			}
		}
	}
}
