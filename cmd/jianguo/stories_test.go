package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"jianguo/ingest"
)

// TestStoryScope: a copy that is published once its original was deleted tells the same story, also after a restart.
func TestStoryScope(t *testing.T) {
	t.Parallel()
	s := serve(t, plainBinary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0")
	s.ready()
	var it ingest.Item
	if err := json.Unmarshal(article(1), &it); err != nil {
		t.Fatal(err)
	}
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
	if got := filter("story").Items; !slices.Equal(got, all) {
		t.Errorf("a rejected copy is in no story: %q", got)
	}
	req, _ := http.NewRequest(http.MethodDelete, s.address.HTTP+"/items/original?mode=promote", nil)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	check := func() {
		t.Helper()
		s.eventually("the copy is of the story that was seen", func() bool {
			got := filter("story")
			return got.Degraded == "" && slices.Equal(got.Items, all[1:])
		})
		if got := filter("item").Items; !slices.Equal(got, all) {
			t.Errorf("by items: %q", got)
		}
	}
	check()
	s.kill()
	s.start()
	s.ready()
	check()
}
