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
// copies: texts that add nothing to each other. Only items of stories of two or more are kept, in memory, about 70
// bytes an item. An unknown item is a story of its own. New makes them. All methods may be called from any goroutine.
//
// An exposure is stored under its item alone. A filter asks for all items of a story instead, so that stories
// may merge and part at any time.
type Stories struct {
	seed  uint64
	ready atomic.Bool

	set sync.Mutex // held by Set, which alone makes changes
	mu  sync.RWMutex
	tables
}

// tables are what Stories hold, under Stories.mu.
type tables struct {
	ids     []byte           // of items, one after the other
	items   []item           // those of a story stand together; the first one is of none
	cells   []cell           // by key, with open addressing; at most half are used
	bits    []uint64         // a bit for each key, at most one in 16 is set: it sends most items away that are in no story
	stories map[uint32]block // by number
	live    int              // items that are in the story where they stand
}

// block is where the items of a story stand.
type block struct{ first, size uint32 }

// item is an item where it was put. All but its block stays as it is.
type item struct {
	block
	from, to, telling uint32 // from and to: its id
	adds              int32
}

// cell is where the item with an id was put last. Its key is never 0.
type cell struct{ key, item uint32 }

// New makes empty stories.
func New() *Stories { return &Stories{seed: rand.Uint64(), tables: makeTables(0)} }

// makeTables makes tables for at least four times so many items.
func makeTables(n int) tables {
	size := 1 << 10
	for size < 8*n {
		size *= 2
	}
	return tables{nil, make([]item, 1), make([]cell, size), make([]uint64, size/16), map[uint32]block{}, 0}
}

// Ready says whether all stories are known.
func (s *Stories) Ready() bool { return s.ready.Load() }

// SetReady is called when everything that was published before the start has been given to Set.
func (s *Stories) SetReady() { s.ready.Store(true) }

// Len is the number of items of stories of two or more.
func (s *Stories) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.live
}

// Others lists the other items of an item's story.
func (s *Stories) Others(id string) (others []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	own := s.cell(wire.Key([]byte(id), s.seed), []byte(id)).item
	b := s.items[own].block
	for at := b.first; at < b.first+b.size; at++ {
		if at != own {
			others = append(others, string(s.id(at)))
		}
	}
	return others
}

// Set says which items a story has from now on; with fewer than two it is forgotten. Its number is that of one of its
// tellings: a story with the number of another one is part of this one. An item is in the story that it was last in.
func (s *Stories) Set(number uint32, items []Item) {
	s.set.Lock()
	defer s.set.Unlock()
	t := s.tables
	if 2*(len(t.items)+len(items)) > len(t.cells) {
		t = s.renewed(len(items)) // while filters go on
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables = t
	s.forget(number)
	if len(items) < 2 {
		return
	}
	b := block{uint32(len(s.items)), uint32(len(items))}
	for _, it := range items {
		s.forget(it.Telling)
		s.put([]byte(it.ID), item{block: b, telling: it.Telling, adds: int32(it.Adds)}, s.seed)
	}
	s.stories[number] = b
}

// renewed are the tables without what stands in no story any more, and with room for more items.
func (s *Stories) renewed(more int) tables {
	for _, b := range s.stories {
		more += int(b.size)
	}
	t := makeTables(more)
	for number, b := range s.stories {
		now := block{uint32(len(t.items)), b.size}
		for at := b.first; at < b.first+b.size; at++ {
			it := s.items[at]
			if it.size > 0 {
				it.block = now
			}
			t.put(s.id(at), it, s.seed)
		}
		t.stories[number] = now
	}
	return t
}

// put appends an item.
func (t *tables) put(id []byte, it item, seed uint64) {
	at := uint32(len(t.items))
	it.from = uint32(len(t.ids))
	t.ids = append(t.ids, id...)
	it.to = uint32(len(t.ids))
	t.items = append(t.items, it)
	if it.size == 0 {
		return
	}
	key := wire.Key(id, seed)
	c := t.cell(key, id)
	t.leave(c.item)
	*c = cell{key, at}
	bit := t.bit(key)
	t.bits[bit>>6] |= 1 << (bit & 63)
	t.live++
}

// leave takes an item out of its story.
func (t *tables) leave(at uint32) {
	if it := &t.items[at]; it.size > 0 {
		it.block = block{}
		t.live--
	}
}

func (t *tables) forget(number uint32) {
	b := t.stories[number]
	for at := b.first; at < b.first+b.size; at++ {
		t.leave(at)
	}
	delete(t.stories, number)
}

func (t *tables) id(at uint32) []byte { return t.ids[t.items[at].from:t.items[at].to] }

// cell is that of an id, or the free one that it can have.
func (t *tables) cell(key uint32, id []byte) *cell {
	for at := key; ; at++ {
		c := &t.cells[at&uint32(len(t.cells)-1)]
		if c.key == 0 || c.key == key && string(t.id(c.item)) == string(id) {
			return c
		}
	}
}

// bit is the number of the bit of a key.
func (t *tables) bit(key uint32) uint32 { return key & uint32(64*len(t.bits)-1) }

// Found are the stories of the items of one request. Its memory may be used again.
type Found struct {
	keys   []uint32 // of the request's items, under Stories.seed
	likely []uint32 // the numbers of those that may be in a story
	hits   []hit
	begin  []begin    // by the first item of a story, with open addressing
	at     []uint32   // of these stories, one after the other, the numbers of the items: in the request, or in others
	others wire.Query // the items of these stories that led to none; they are numbered on from the request's
	items  []item
}

// hit is an item of the request that is in a story: its number, where it is put, its story, and where at has that.
type hit struct {
	number, own uint32
	block
	at uint32
}

// begin is where at has the story with that first item.
type begin struct{ first, at uint32 }

// Find looks up the items of a request.
func (f *Found) Find(s *Stories, q *wire.Query) {
	f.keys, f.hits, f.at = q.AppendKeys(f.keys[:0], s.seed), f.hits[:0], f.at[:0]
	likely := slices.Grow(f.likely[:0], len(f.keys))[:len(f.keys)]
	f.likely = likely
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, n := s.tables, 0
	for i, key := range f.keys {
		likely[n] = uint32(i)
		bit := t.bit(key)
		n += int(t.bits[bit>>6] >> (bit & 63) & 1)
	}
	size := 1 << bits.Len(uint(2*n))
	f.begin = slices.Grow(f.begin[:0], size)[:size]
	clear(f.begin)
	f.items = t.items
	f.others.Refer(t.ids)
	for _, i := range likely[:n] {
		own := t.cell(f.keys[i], q.ID(int(i))).item
		if b := t.items[own].block; b.size > 0 {
			f.hits = append(f.hits, hit{i, own, b, f.ask(b, own, i, uint32(len(f.keys)))})
		}
	}
}

// ask puts the items of a story into at, if they are not there. One of them is item i of the request's n.
func (f *Found) ask(b block, own, i, n uint32) (at uint32) {
	for slot := b.first; ; slot++ {
		c := &f.begin[slot&uint32(len(f.begin)-1)]
		if c.first == b.first {
			return c.at
		}
		if c.first == 0 {
			*c = begin{b.first, uint32(len(f.at))}
			for k := b.first; k < b.first+b.size; k++ {
				if k == own {
					f.at = append(f.at, i)
				} else {
					f.at = append(f.at, n+uint32(f.others.Len()))
					f.others.Add(f.items[k].from, f.items[k].to)
				}
			}
			return c.at
		}
	}
}

// AppendKeys appends the keys of the items of the stories found that the request may lack, under the seed of a user.
func (f *Found) AppendKeys(keys []uint32, seed uint64) []uint32 {
	return f.others.AppendKeys(keys, seed)
}

// Spread marks an item of a request as held exactly if another one of its telling is held, and, with the scope story,
// if another telling is held and its own adds fewer characters than adds; adds 0: whatever it adds. keys and marks are
// those of the request's items, and behind them those of AppendKeys. What is marked here marks no others: these are of
// its telling, or add as little.
func (f *Found) Spread(story bool, adds int, keys []uint32, marks []byte) {
	for i := range f.hits {
		h := &f.hits[i]
		for k, at := range f.at[h.at : h.at+h.size] {
			if marks[at] == kernel.Unseen || keys[at] == keys[h.number] {
				continue
			}
			own, other := &f.items[h.own], &f.items[h.first+uint32(k)]
			if other.telling == own.telling || story && (adds == 0 || int(own.adds) < adds) {
				marks[h.number] = kernel.Exact
			}
		}
	}
}
