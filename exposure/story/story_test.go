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
)

// found lists, for each of some ids, the ids of its story; an id that is in none is alone.
func found(t rapid.TB, s *Stories, ids []string) map[string][]string {
	body, _ := json.Marshal(map[string]any{"user": "u", "items": ids})
	var q wire.Query
	if err := q.Decode(body); err != nil {
		t.Fatal(err)
	}
	var f Found
	f.Find(s, &q)
	out := map[string][]string{}
	for _, id := range ids {
		out[id] = []string{id}
	}
	for _, h := range f.hits {
		var story []string
		for _, other := range f.others[h.from:h.to] {
			story = append(story, other.id)
		}
		slices.Sort(story)
		out[ids[h.number]] = story
	}
	return out
}

// TestStories: after any links, stories are what the links connect.
func TestStories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, of := New(), map[string]string{}
		var ids []string
		for i := range 30 {
			ids = append(ids, fmt.Sprint("item-", i))
		}
		id := rapid.SampledFrom(ids)
		for range rapid.IntRange(1, 60).Draw(rt, "changes") {
			a, b := id.Draw(rt, "a"), id.Draw(rt, "b")
			if a != b && rapid.IntRange(0, 3).Draw(rt, "link") > 0 {
				s.Link(a, b, 0)
				of[a] = b
			} else {
				s.Unlink(a)
				delete(of, a)
			}
		}
		root := map[string]string{}
		for _, id := range ids {
			root[id] = id
		}
		for a, b := range of {
			from, to := root[a], root[b]
			for id, r := range root {
				if r == from {
					root[id] = to
				}
			}
		}
		kept := 0
		for a, story := range found(rt, s, ids) {
			var want []string
			for _, b := range ids {
				if root[a] == root[b] {
					want = append(want, b)
				}
			}
			slices.Sort(want)
			if !slices.Equal(story, want) {
				rt.Fatalf("%s: %q, want %q; %v", a, story, want, of)
			}
			if len(want) > 1 {
				kept++
			}
		}
		if kept != s.Len() {
			rt.Fatalf("%d items kept, %d are in stories of two or more", s.Len(), kept)
		}
	})
}

// TestMost: a story has a bounded number of items, and each item stays in one.
func TestMost(t *testing.T) {
	s := New()
	var ids []string
	for i := range 3 * Most {
		ids = append(ids, fmt.Sprint(i))
		if i > 0 {
			s.Link(fmt.Sprint(i), fmt.Sprint(i-1), 0)
		}
	}
	for id, story := range found(t, s, ids) {
		if len(story) > Most || !slices.Contains(story, id) {
			t.Fatalf("%s is in a story of %d", id, len(story))
		}
	}
}

// TestSpread: an item is marked by the others of its story, not by itself.
func TestSpread(t *testing.T) {
	f := Found{hits: []hit{{0, 0, 2, 0}, {1, 2, 4, 2}}, others: []toldItem{{"a", 0, 0}, {"b", 0, 0}, {"c", 2, 0}, {"d", 2, 0}}}
	keys := []uint32{1, 3, 9, 1, 2, 3, 4}
	marks := []byte{kernel.InShard, kernel.Unseen, kernel.Unseen, kernel.InShard, kernel.Unseen, kernel.Unseen, kernel.InShard}
	f.Spread(true, 0, 3, keys, marks)
	if want := []byte{kernel.InShard, kernel.Exact, kernel.Unseen}; !slices.Equal(marks[:3], want) {
		t.Errorf("%v, want %v", marks[:3], want)
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
		s.Link(fmt.Sprintf("item-%09d", 2*i), fmt.Sprintf("item-%09d", 2*i+1), 0)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := float64(after.HeapAlloc-before.HeapAlloc) / (2 * stories)
	t.Logf("%.0f bytes an item", each)
	if each > 140 || s.Len() != 2*stories {
		t.Errorf("%.0f bytes an item, the package comment says about 110", each)
	}
	runtime.KeepAlive(s)
}

// TestRoomForWhatIsPublished: rejected copies take half of a story at most.
func TestRoomForWhatIsPublished(t *testing.T) {
	s := New()
	for n := range 2 * Most {
		s.Link(fmt.Sprint("rejected", n), "first", Rejected)
	}
	s.Link("update", "first", 100)
	others := s.Others("first")
	if len(others) > Most/2 || !slices.Contains(others, "rejected127") || !slices.Contains(others, "update") {
		t.Errorf("%d others: %q", len(others), others)
	}
}
