//go:build !race

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// trace reads the trace of a user.
func (s *process) trace(user string) string {
	s.t.Helper()
	status, text, err := s.get("/exposures/trace?user=" + user)
	if err != nil || status != 200 {
		s.t.Fatal(status, string(text), err)
	}
	return string(text)
}

// TestTrace: a trace of a user says of each dropped id what held it, survives a kill, ends, and is gone with the user.
func TestTrace(t *testing.T) {
	t.Parallel()
	s := serveReady(t, plainBinary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0", "--exposure-policy", "rotate,capacity=64,tail=16,target=0.05")
	for _, user := range []string{"ann", "phone"} {
		s.ask("/exposures/trace", `{"user":"`+user+`","for":"24h","reason":"ticket 7"}`, nil)
	}
	s.ask("/exposures/trace", `{"user":"bob","for":"1s","reason":"short"}`, nil)

	var old, ids []string
	for i := range 298 {
		old, ids = append(old, fmt.Sprintf(`"old%d"`, i)), append(ids, fmt.Sprintf(`"id%d"`, i))
	}
	s.ask("/exposures", `{"user":"ann","kind":"seen","items":[`+strings.Join(old, ",")+`]}`, nil)
	// Names that no shard has by chance: three in a hundred are false positives. What is reported
	// from here on stays in the tail, which has five keys.
	var fresh struct{ Items []string }
	s.ask("/filter", `{"user":"ann","items":[`+strings.Join(ids, ",")+`]}`, &fresh)
	original, duplicate, seen, delivered, phones, unseen := fresh.Items[0], fresh.Items[1], fresh.Items[2], fresh.Items[3], fresh.Items[4], fresh.Items[5]

	var it ingest.Item
	testbed.OK(t, json.Unmarshal(article(1), &it))
	for _, it.ID = range []string{original, duplicate} {
		body, _ := json.Marshal(it)
		s.ask("/items", string(body), nil)
	}
	req, _ := http.NewRequest(http.MethodDelete, s.address.HTTP+"/items/"+original+"?mode=promote", nil)
	if status, _, err := answered(http.DefaultClient.Do(req)); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	s.ask("/exposures", `{"user":"ann","kind":"seen","items":["`+original+`","`+seen+`"]}`, nil)
	s.ask("/exposures", `{"user":"ann","kind":"delivered","items":["`+delivered+`"]}`, nil)
	s.ask("/exposures", `{"user":"phone","kind":"seen","items":["`+phones+`"]}`, nil)
	s.ask("/exposures/link", `{"user":"ann","from":"phone"}`, nil)
	s.eventually("the story is known", func() bool {
		var got struct{ Dropped int }
		s.ask("/filter", `{"user":"ann","items":["`+duplicate+`"],"scope":"story"}`, &got)
		return got.Dropped == 1
	})
	s.ask("/filter", `{"user":"ann","items":["`+strings.Join([]string{seen, delivered, phones, "old3", unseen}, `","`)+`"],"mark":"delivered","max":5}`, nil)
	var unknown []string
	for i := range 3000 {
		unknown = append(unknown, fmt.Sprintf(`"unknown%d"`, i))
	}
	var answer struct{ Dropped int }
	s.ask("/filter", `{"user":"ann","items":[`+strings.Join(unknown, ",")+`]}`, &answer)
	if answer.Dropped == 0 {
		t.Error("no false positive")
	}
	got := s.trace("ann")
	for _, want := range []string{`^Trace of user "ann" from .* \(ticket 7\)\n`, ` seen: 298 ids\n    298 reported: "old0" "old1" `, ` seen: 2 ids\n    2 reported: "` + original + `" "` + seen + `"\n`, ` link linked user "phone"\n`,
		`filter, scope story: 1 ids\n    1 dropped, "` + original + `" of the same story: seen on \S+ \(tail, exact\): "` + duplicate + `"\n`,
		`filter, max 5: 5 ids\n    1 returned: "` + unseen + `"\n    1 dropped, seen on \S+ \(tail, exact\): "` + seen + `"\n    1 dropped, delivered .* \(ring, exact, for 24 hours\): "` + delivered + `"\n    1 dropped, linked user "phone": seen on .*: "` + phones + `"\n    1 dropped, shard \d of \d .*: "old3"\n`,
		` delivered: 1 ids\n    1 reported: "` + unseen + `"\n`, `filter: 3000 ids\n    \d+ returned: "unknown\d+" .* and \d+ more\n    \d+ dropped, `} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("no %s in\n%.5000s", want, got)
		}
	}
	if log := fmt.Sprint(s.log); strings.Count(log, "a trace of a user begins") != 3 || !strings.Contains(log, `reason="ticket 7" user_hash=`) {
		t.Errorf("the log does not say who is traced: %s", log)
	}
	s.kill()
	s.start()
	s.ready()
	if again := s.trace("ann"); again != got {
		t.Errorf("after a kill:\n%.3000s\nbefore:\n%.3000s", again, got)
	}
	n := 0
	s.eventually("a trace ends", func() bool {
		n++
		s.ask("/filter", fmt.Sprintf(`{"user":"bob","items":["item%d"]}`, n), nil)
		return !strings.Contains(s.trace("bob"), fmt.Sprintf(" \"item%d\"\n", n))
	})
	s.ask("/exposures/forget", `{"user":"ann"}`, nil)
	for _, user := range []string{"ann", "phone"} {
		if status := s.status("/exposures/trace?user=" + user); status != 404 {
			t.Errorf("%s was forgotten: %d", user, status)
		}
	}
	s.kill()
	s.start()
	s.ready()
	if status := s.status("/exposures/trace?user=ann"); status != 404 {
		t.Errorf("forgotten, after a kill: %d", status)
	}
	s.stop()
}
