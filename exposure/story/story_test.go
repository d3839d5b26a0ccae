package story

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jianguo/exposure/kernel"
	"jianguo/exposure/wire"
	"jianguo/internal/testbed"
)

// found lists, for each of some ids, the ids of its story; an id that is in none is alone.
func found(t rapid.TB, s *Stories, ids []string) map[string][]string {
	body, _ := json.Marshal(map[string]any{"user": "u", "items": ids})
	var q wire.Query
	testbed.OK(t, q.Decode(body))
	var f Found
	f.Find(s, &q, make([]byte, q.Len()), false)
	out := map[string][]string{}
	for _, id := range ids {
		out[id] = []string{id}
	}
	for _, h := range f.hits {
		var story []string
		for _, other := range h.items {
			story = append(story, other.ID)
		}
		slices.Sort(story)
		out[ids[h.request]] = story
	}
	return out
}

// TestStories: tellings move from story to story, and whole stories are joined. Each item is in the story that the
// catalogue says, whatever the order in which the stories are set.
func TestStories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const tellings = 10
		s, of := New(), make([]uint32, tellings) // the story of each telling: two items, but some have one
		id := func(telling, n int) string { return fmt.Sprintf("item-%d-%d", telling, n) }
		items := func(story uint32) (list []Item) {
			for telling := range tellings {
				for n := range 1 + telling%2 {
					if of[telling] == story {
						list = append(list, Item{ID: id(telling, n), Telling: uint32(telling)})
					}
				}
			}
			return list
		}
		for telling := range of {
			of[telling] = uint32(telling)
		}
		for telling := range of {
			s.Set(uint32(telling), items(uint32(telling)))
		}
		for range rapid.IntRange(1, 30).Draw(rt, "changes") {
			telling := rapid.IntRange(0, tellings-1).Draw(rt, "telling")
			from, to := of[telling], of[rapid.IntRange(0, tellings-1).Draw(rt, "to")]
			switch {
			case from != uint32(telling): // not the first one: it parts
				of[telling] = uint32(telling)
			case from != to:
				for k := range of {
					if of[k] == from {
						of[k] = to
					}
				}
			}
			touched := rapid.Permutation([]uint32{from, to, uint32(telling)}).Draw(rt, "order")
			for _, number := range touched {
				s.Set(number, items(number))
			}
		}
		var ids []string
		for telling := range tellings {
			for n := range 1 + telling%2 {
				ids = append(ids, id(telling, n))
			}
		}
		kept, got := 0, found(rt, s, ids)
		for telling := range tellings {
			var want []string
			for _, it := range items(of[telling]) {
				want = append(want, it.ID)
			}
			slices.Sort(want)
			for n := range 1 + telling%2 {
				if !slices.Equal(got[id(telling, n)], want) {
					rt.Fatalf("%s: %q, want %q; %v", id(telling, n), got[id(telling, n)], want, of)
				}
				if len(want) > 1 {
					kept++
				}
			}
		}
		if kept != s.Len() {
			rt.Fatalf("%d items kept, %d are in stories of two or more", s.Len(), kept)
		}
	})
}

// TestCollision: an item is not in the story of another one that has the same key.
func TestCollision(t *testing.T) {
	s, ids := New(), map[uint32]string{}
	for i := 0; ; i++ {
		id := fmt.Sprint("item-", i)
		key := wire.Key([]byte(id), s.seed)
		if other := ids[key]; other != "" {
			s.Set(1, []Item{{id, 1, 0}, {"copy", 1, 0}})
			if got := found(t, s, []string{id, other}); len(got[id]) != 2 || len(got[other]) != 1 || s.Others(other) != nil {
				t.Errorf("%q and %q: %v", id, other, got)
			}
			s.Set(2, []Item{{other, 2, 0}, {"another copy", 2, 0}})
			if got := found(t, s, []string{id, other}); len(got[id]) != 2 || slices.Contains(got[other], id) {
				t.Errorf("%q and %q: %v", id, other, got)
			}
			return
		}
		ids[key] = id
	}
}

// TestSpread: an item is marked by the others of its story, not by itself.
func TestSpread(t *testing.T) {
	one, two := &set{items: []Item{{"a", 1, 0}, {"b", 1, 0}}}, &set{items: []Item{{"c", 2, 0}, {"d", 2, 0}}}
	f := Found{hits: []hit{{0, cell{1, 0, one}, 0}, {1, cell{3, 0, two}, 2}}, at: []uint32{0, 2, 1, 3}}
	keys, marks := []uint32{1, 3, 2, 4}, []byte{kernel.InShard, kernel.Unseen, kernel.Unseen, kernel.InShard}
	f.Spread(true, 0, keys, marks)
	if want := []byte{kernel.InShard, kernel.Exact}; !slices.Equal(marks[:2], want) {
		t.Errorf("%v, want %v", marks[:2], want)
	}
}

// TestBytes measures what package story says it takes.
func TestBytes(t *testing.T) {
	const stories = 50_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := New()
	for i := range stories {
		number := uint32(i)
		s.Set(number, []Item{{fmt.Sprintf("item-%09d", 2*i), number, 0}, {fmt.Sprintf("item-%09d", 2*i+1), number, 0}})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := float64(after.HeapAlloc-before.HeapAlloc) / (2 * stories)
	t.Logf("%.0f bytes an item", each)
	if each > 160 || s.Len() != 2*stories {
		t.Errorf("%.0f bytes an item, the comment of Stories says about 130", each)
	}
	runtime.KeepAlive(s)
}
