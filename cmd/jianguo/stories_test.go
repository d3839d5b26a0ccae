//go:build !race

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// TestStoryScope: a rejected copy tells what its original tells, also once it is published since the original was deleted,
// and after a restart.
func TestStoryScope(t *testing.T) {
	t.Parallel()
	s := serveReady(t, plainBinary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0")
	var it ingest.Item
	testbed.OK(t, json.Unmarshal(article(1), &it))
	for _, id := range []string{"original", "copy"} {
		it.ID = id
		body, _ := json.Marshal(it)
		s.ask("/items", string(body), nil)
	}
	s.ask("/items", string(article(2)), nil)
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["original"]}`, nil)
	filter := func(scope string) (answer struct {
		Items    []string
		Degraded string
	}) {
		s.ask("/filter", `{"user":"u","items":["copy","n2","unknown"],"scope":"`+scope+`"}`, &answer)
		return answer
	}
	all := []string{"copy", "n2", "unknown"}
	check := func() {
		t.Helper()
		for _, scope := range []string{"telling", "story"} {
			s.eventually("the copy tells what was seen", func() bool {
				got := filter(scope)
				return got.Degraded == "" && slices.Equal(got.Items, all[1:])
			})
		}
		if got := filter("item").Items; !slices.Equal(got, all) {
			t.Errorf("by items: %q", got)
		}
	}
	check() // a platform may show a rejected copy all the same
	req, _ := http.NewRequest(http.MethodDelete, s.address.HTTP+"/items/original?mode=promote", nil)
	resp, err := http.DefaultClient.Do(req)
	testbed.OK(t, err)
	_ = resp.Body.Close()
	check()
	s.kill()
	s.start()
	s.ready()
	check()
}

// TestStoryDecisions: what editors decide about clusters counts in the filter by stories within moments, and after a restart:
// a merge, its undo, and the release of a merged item. The metric counts the items of stories.
func TestStoryDecisions(t *testing.T) {
	t.Parallel()
	s := serveReady(t, plainBinary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0")
	for n := range 3 {
		s.ask("/items", string(article(n+1)), nil)
	}
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["n1"]}`, nil)
	decide := func(cluster int, body string) (d struct{ Decision int }) {
		t.Helper()
		s.ask(fmt.Sprintf("/clusters/%d/decisions", cluster), body, &d)
		return d
	}
	check := func(what string, known int, want ...string) {
		t.Helper()
		for range 2 {
			s.eventually(what, func() bool {
				var got struct {
					Items    []string
					Degraded string
				}
				s.ask("/filter", `{"user":"u","items":["n1","n2","n3"],"scope":"story"}`, &got)
				return got.Degraded == "" && slices.Equal(got.Items, want) && int(s.metrics()["jianguo_exposure_story_items"]) == known
			})
			s.kill()
			s.start()
			s.ready()
		}
	}
	check("three stories", 0, "n2", "n3")
	merge := decide(2, `{"kind":"merge","into":1,"by":"张三"}`)
	check("n2 is of the story of n1", 2, "n3")
	decide(1, fmt.Sprintf(`{"kind":"undo","decision":%d,"by":"张三"}`, merge.Decision))
	check("the merge is undone", 0, "n2", "n3")
	decide(3, `{"kind":"merge","into":1,"by":"张三"}`)
	check("n3 is of the story of n1", 2, "n2")
	decide(1, `{"kind":"release","item":"n3","by":"张三"}`)
	check("n3 is released", 0, "n2", "n3")
}
