package exposure

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jianguo/exposure/state"
	"jianguo/exposure/story"
)

// TestTellings: with the scope telling, an item is taken out if it or a copy of it was seen; with the scope story and
// adds, also if another telling of its story was and its own adds fewer characters than that.
func TestTellings(t *testing.T) {
	f := newFixture(t, Config{Stories: story.New()})
	stories := f.cfg.Stories
	stories.SetReady()
	users := 0
	rapid.Check(t, func(rt *rapid.T) {
		users++
		user, item := fmt.Sprint("u", users), func(n int) string { return fmt.Sprintf("%d-%d", users, n) }
		const items = 12
		telling, told, adds := make([]int, items), make([]int, items), map[int]int{} // adds of a telling
		for n := range items {
			telling[n], told[n] = n, n
			of := rapid.IntRange(-1, n-1).Draw(rt, "of")
			if of < 0 {
				continue
			}
			told[n] = told[of]
			if adds[n] = rapid.SampledFrom([]int{0, 0, 40, 120}).Draw(rt, "adds"); adds[n] == 0 {
				telling[n] = telling[of]
			}
		}
		for first := range items {
			var all []story.Item
			for n := range items {
				if told[n] == first {
					number := uint32(users*items + telling[n])
					all = append(all, story.Item{ID: item(n), Telling: number, Adds: adds[telling[n]]})
				}
			}
			stories.Set(uint32(users*items+first), all)
		}
		seen := map[int]bool{}
		for range rapid.IntRange(0, 3).Draw(rt, "seen") {
			n := rapid.IntRange(0, items-1).Draw(rt, "item")
			seen[n] = true
			f.report(state.Seen, user, item(n))
		}
		var asked []string
		for n := range items {
			asked = append(asked, item(n))
		}
		for _, req := range []Request{{Scope: "telling"}, {Scope: "story"}, {Scope: "story", Adds: 30}, {Scope: "story", Adds: 100}} {
			var want []string
			for n := range items {
				taken := false
				for k := range seen {
					taken = taken || telling[k] == telling[n] || req.Scope == "story" && told[k] == told[n] &&
						(req.Adds == 0 || adds[telling[n]] < req.Adds)
				}
				if !taken {
					want = append(want, item(n))
				}
			}
			req.User, req.Items = user, asked
			if answer, err := f.Filter(t.Context(), req); err != nil || !slices.Equal(answer.Items, want) {
				rt.Fatalf("%s, adds %d: %q %v, want %q", req.Scope, req.Adds, answer.Items, err, want)
			}
		}
	})
	for _, req := range []Request{{Scope: "text"}, {Scope: "item", Adds: 3}, {Scope: "story", Adds: -1}} {
		req.User, req.Items = "u", []string{"i"}
		if _, err := f.Filter(t.Context(), req); err == nil {
			t.Errorf("%+v is answered", req)
		}
	}
}

// tell makes items a story of one telling.
func tell(stories *story.Stories, number uint32, ids ...string) {
	var items []story.Item
	for _, id := range ids {
		items = append(items, story.Item{ID: id, Telling: number})
	}
	stories.Set(number, items)
}

// TestStoryScope: with the scope story, an item comes back if and only if no item of its story was seen, by the
// user or by a linked one; without it, only the item itself counts.
func TestStoryScope(t *testing.T) {
	f := newFixture(t, Config{Stories: story.New()})
	stories := f.cfg.Stories
	item := func(story, n int) string { return fmt.Sprintf("s%d-%d", story, n) }
	for s := range 20 {
		tell(stories, uint32(s), item(s, 0), item(s, 1), item(s, 2))
	}
	answer, err := f.Filter(t.Context(), Request{User: "nobody", Items: []string{"s1-1"}, Scope: "story"})
	if err != nil || answer.Degraded != "story" {
		t.Fatalf("before all stories are known: %+v %v", answer, err)
	}
	stories.SetReady()
	users := 0
	rapid.Check(t, func(rt *rapid.T) {
		users++
		user, phone := fmt.Sprint("u", users), fmt.Sprint("phone", users)
		f.must(f.Expose(t.Context(), Event{Kind: state.Link, User: user, From: phone}))
		seen, told := map[string]bool{}, map[int]bool{}
		for range rapid.IntRange(0, 12).Draw(rt, "seen") {
			s, n := rapid.IntRange(0, 29).Draw(rt, "story"), rapid.IntRange(0, 2).Draw(rt, "item")
			seen[item(s, n)] = true
			if s < 20 {
				told[s] = true
			}
			f.report(state.Seen, rapid.SampledFrom([]string{user, phone}).Draw(rt, "by"), item(s, n))
		}
		var asked, byItem, byStory []string
		for s := range 30 {
			for n := range 3 {
				id := item(s, n)
				asked = append(asked, id)
				if !seen[id] {
					byItem = append(byItem, id)
					if !told[s] {
						byStory = append(byStory, id)
					}
				}
			}
		}
		for scope, want := range map[string][]string{"item": byItem, "story": byStory} {
			answer, err := f.Filter(t.Context(), Request{User: user, Items: asked, Scope: scope, AtLeast: 5})
			if err != nil || answer.Degraded != "" || !slices.Equal(answer.Items, want) || answer.Dropped+len(want) != len(asked) {
				rt.Fatalf("%s: %+v %v, want %q", scope, answer, err, want)
			}
		}
		id := rapid.SampledFrom(asked).Draw(rt, "explained")
		x, err := f.Explain(t.Context(), user, id, "")
		if err != nil || x.Dropped == slices.Contains(byItem, id) || x.Story == slices.Contains(byStory, id) {
			rt.Fatalf("%v %v", x, err)
		}
	})
}
