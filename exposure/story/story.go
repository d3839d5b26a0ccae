// Package story knows which items tell the same story, and which of these tell it in the same words.
package story

import (
	"math/bits"
	"math/rand/v2"
	"slices"
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
	sets  map[uint32]*set // mu; by number
	cells []cell          // mu; by key, with open addressing
	used  int             // mu; cells that are not empty: at most half
	// mu; two bits of a word for each key, at most a quarter is set: they send most items away that are in no story.
	bits []uint64
}

type set struct {
	number uint32
	items  []Item
	gone   bool // Stories.mu
}

// cell is where the item of an id is, or was last. Its key is never 0.
type cell struct {
	key, at uint32
	*set
}

func New() *Stories {
	s := &Stories{seed: rand.Uint64(), sets: map[uint32]*set{}}
	s.renew(0)
	return s
}

// Ready says whether all stories are known.
func (s *Stories) Ready() bool { return s.ready.Load() }

// SetReady is called when everything that was published before the start has been given to Set.
func (s *Stories) SetReady() { s.ready.Store(true) }

// Len is the number of items of stories of two or more.
func (s *Stories) Len() (n int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, set := range s.sets {
		n += len(set.items)
	}
	return n
}

// Others lists the other items of an item's story.
func (s *Stories) Others(id string) (others []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c := s.cell(wire.Key([]byte(id), s.seed), []byte(id)); c.set != nil && !c.gone {
		for i, other := range c.items {
			if i != int(c.at) {
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
	for _, it := range items {
		s.forget(it.Telling)
	}
	if 2*(s.used+len(items)) > len(s.cells) {
		s.renew(len(items))
	}
	s.sets[number] = &set{number: number, items: items}
	s.put(s.sets[number])
}

func (s *Stories) forget(number uint32) {
	if was := s.sets[number]; was != nil {
		was.gone = true
		delete(s.sets, number)
	}
}

// renew makes new cells for the items of all stories, with room for as many again, and more.
func (s *Stories) renew(more int) {
	for _, set := range s.sets {
		more += len(set.items)
	}
	size := max(1<<10, 1<<bits.Len(uint(4*more)))
	s.cells, s.bits, s.used = make([]cell, size), make([]uint64, size/16), 0
	for _, set := range s.sets {
		s.put(set)
	}
}

// put lets all items of a story be found there.
func (s *Stories) put(set *set) {
	for at := range set.items {
		id := []byte(set.items[at].ID)
		key := wire.Key(id, s.seed)
		c := s.cell(key, id)
		if c.set == nil {
			s.used++
		}
		*c = cell{key, uint32(at), set}
		*s.word(key) |= 1<<(key>>26) | 1<<(key>>20&63)
	}
}

// cell is that of an id, or the empty one that it can have.
func (s *Stories) cell(key uint32, id []byte) *cell {
	for at := key; ; at++ {
		c := &s.cells[at&uint32(len(s.cells)-1)]
		if c.key == 0 || c.key == key && c.items[c.at].ID == string(id) {
			return c
		}
	}
}

// word has the bits of a key.
func (s *Stories) word(key uint32) *uint64 { return &s.bits[key&uint32(len(s.bits)-1)] }

// Found are the stories of the items of one request. Its memory may be used again.
type Found struct {
	keys   []uint32 // of the request's items, under Stories.seed
	likely []uint32 // the numbers of those that may be in a story
	hits   []hit
	begin  []begin    // by the number of a story, with open addressing
	at     []uint32   // of these stories, one after the other, the numbers of the items: in the request, or in others
	others wire.Query // the items of these stories that led to none; they are numbered on from the request's
}

// hit is an item of the request that is in a story: its number there, its place, and where at has the story.
type hit struct {
	request uint32
	cell
	from int
}

// begin is where at has a story.
type begin struct {
	*set
	from int
}

// Clear forgets what was found.
func (f *Found) Clear() {
	f.hits, f.at = f.hits[:0], f.at[:0]
	f.others.Clear()
}

// Find looks up the items of a request, by their marks: those that are Unseen and, with relaxed, InShard. Others need
// no story to be taken out.
func (f *Found) Find(s *Stories, q *wire.Query, marks []byte, relaxed bool) {
	f.Clear()
	f.keys = q.Keys(f.keys, s.seed)
	open := [...]uint64{kernel.Unseen: 1, kernel.Exact: 0, kernel.InShard: 0}
	if relaxed {
		open[kernel.InShard] = 1
	}
	likely, n := slices.Grow(f.likely[:0], len(f.keys))[:len(f.keys)], 0
	f.likely = likely
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, key := range f.keys {
		likely[n] = uint32(i)
		word := *s.word(key)
		n += int(word >> (key >> 26 & 63) & (word >> (key >> 20 & 63)) & open[marks[i]])
	}
	f.begin = slices.Grow(f.begin[:0], 4*n+1)[:1<<bits.Len(uint(2*n))]
	clear(f.begin)
	for _, i := range likely[:n] {
		if c := s.cell(f.keys[i], q.ID(int(i))); c.set != nil && !c.gone {
			f.hits = append(f.hits, hit{i, *c, f.ask(c, i)})
		}
	}
}

// ask puts the items of a story into at, if they are not there. One of them is item i of the request.
func (f *Found) ask(c *cell, i uint32) (from int) {
	slot := c.number
	for ; ; slot++ {
		if b := &f.begin[slot&uint32(len(f.begin)-1)]; b.set == c.set {
			return b.from
		} else if b.set == nil {
			*b = begin{c.set, len(f.at)}
			break
		}
	}
	from = len(f.at)
	for at := range c.items {
		if at == int(c.at) {
			f.at = append(f.at, i)
		} else {
			f.at = append(f.at, uint32(len(f.keys)+f.others.Len()))
			f.others.Add(c.items[at].ID)
		}
	}
	return from
}

// AppendKeys appends the keys of the items of the stories found that the request may lack, under the seed of a user.
func (f *Found) AppendKeys(keys []uint32, seed uint64) []uint32 {
	n := len(keys)
	keys = slices.Grow(keys, f.others.Len())
	return keys[:n+len(f.others.Keys(keys[n:], seed))]
}

// Spread marks an item of a request as held exactly if another one of its telling is held, and, with the scope story,
// if another telling is held and its own adds fewer characters than adds; adds 0: whatever it adds. keys and marks are
// those of the request's items, and behind them those of AppendKeys. What is marked here marks no others: these are of
// its telling, or add as little.
func (f *Found) Spread(story bool, adds int, keys []uint32, marks []byte) {
	for i := range f.hits {
		h := &f.hits[i]
		own := &h.items[h.cell.at]
		for k, at := range f.at[h.from : h.from+len(h.items)] {
			if marks[at] == kernel.Unseen || keys[at] == keys[h.request] {
				continue
			}
			if h.items[k].Telling == own.Telling || story && (adds == 0 || own.Adds < adds) {
				marks[h.request] = kernel.Exact
			}
		}
	}
}
