package exposure

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestStoryScope: with the scope story, an item comes back if and only if no item of its story was seen, by the
// user or by a linked one; without it, only the item itself counts.
func TestStoryScope(t *testing.T) {
	f := newFixture(t, Config{Stories: NewStories()})
	stories := f.cfg.Stories
	item := func(story, n int) string { return fmt.Sprintf("s%d-%d", story, n) }
	for s := range 20 {
		for n := 1; n < 3; n++ {
			stories.Link(item(s, n), item(s, 0))
		}
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
		f.must(f.Expose(t.Context(), Event{Kind: Link, User: user, From: phone}))
		seen, told := map[string]bool{}, map[int]bool{}
		for range rapid.IntRange(0, 12).Draw(rt, "seen") {
			s, n := rapid.IntRange(0, 29).Draw(rt, "story"), rapid.IntRange(0, 2).Draw(rt, "item")
			seen[item(s, n)] = true
			if s < 20 {
				told[s] = true
			}
			f.report(Seen, rapid.SampledFrom([]string{user, phone}).Draw(rt, "by"), item(s, n))
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
