package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/exposure/trace"
	"jianguo/internal/testbed"
)

// TestDeadExposures publishes events that cannot be applied and finds them among the dead
// letters with their reasons. It replays one of them, and forgets the user of another.
func TestDeadExposures(t *testing.T) {
	t.Parallel()
	s := serveReady(t, binary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0")
	conn := connect(t, s.address.NATS)
	dead := func(args ...string) string {
		t.Helper()
		return does(t, plainBinary(t), "", append([]string{"dead", "--data", s.data}, args...)...)
	}
	for _, m := range [][2]string{
		{"exposures.seen.0", `{"user":"ann","items":"no list"}`},
		{"exposures.delivered", `{"user":"bob","items":["a"],"at":"yesterday"}`},
		{"exposures.seen.0", `{"user":"bob","items":[""]}`},
		{"exposures.seen", `not JSON`},
		{"exposures.seen.0", `{"user":"ann","items":["kept"]}`},
	} {
		// A request, not a publish: it fails unless JetStream has taken the message.
		if _, err := conn.Request(m[0], []byte(m[1]), patience); err != nil {
			t.Fatal(m[0], err)
		}
	}
	lines := func() []string { return strings.Split(strings.TrimSpace(dead("list")), "\n") }
	s.eventually("four dead letters", func() bool { return len(lines()) == 4 })
	for i, want := range []string{"items: is not an array", `at: is "yesterday"`, "id 0 is empty", "not a JSON object"} {
		if l := lines()[i]; !strings.Contains(l, want) || !strings.Contains(l, "exposures.") {
			t.Errorf("letter %d: %s; want %s", i+1, l, want)
		}
	}
	if got := dead("show", "2"); !strings.Contains(got, `"at":"yesterday"`) {
		t.Errorf("show: %s", got)
	}
	if got := dead("list", "--json"); !strings.Contains(got, `"field":"at"`) {
		t.Errorf("list --json: %s", got)
	}
	// Replayed, it is refused again, under a new number.
	dead("replay", "1")
	s.eventually("the letter is back", func() bool { l := lines(); return len(l) == 4 && strings.Contains(l[3], "items: is not an array") })

	s.ask("/exposures/forget", `{"user":"bob"}`, nil)
	if l := lines(); len(l) != 2 || strings.Contains(strings.Join(l, ""), "yesterday") {
		t.Errorf("after bob was forgotten: %s", l)
	}
	if _, body, err := s.post("/filter", []byte(`{"user":"ann","items":["kept","new"]}`)); string(body) != `{"items":["new"],"dropped":1}` || err != nil {
		t.Errorf("the good event among the bad: %s %v", body, err)
	}
	s.stop()
}

// TestScenes: several scenes share a history. A history is kept by its own policy or by
// the default one. Days are those of the configured time zone.
func TestScenes(t *testing.T) {
	t.Parallel()
	policy := filepath.Join(t.TempDir(), "policy.json") // the name says what it is
	err := os.WriteFile(policy, []byte(`{"histories": {"default": {"policy": "calendar,months=2"}, "video": {"policy": "rotate,slots=3"},
		"finds": {"policy": "calendar,months=2"}},
		"scenes": {"default": {"reads": ["default"], "writes": ["default"]}, "feed": {"reads": ["video"], "writes": ["video"]},
		"player": {"reads": ["video"], "writes": ["video"]}, "search": {"reads": ["finds"], "writes": ["finds"]}}}`), 0o600)
	testbed.OK(t, err)
	s := serveReady(t, binary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0", "--exposure-policy", policy, "--time-zone", "America/Asuncion")
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["f"],"scene":"feed"}`, nil)
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["s"],"scene":"search"}`, nil)
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["d"],"scene":"unknown-scene"}`, nil)
	for scene, want := range map[string]string{"feed": "s d", "player": "s d", "search": "f d", "": "f s", "elsewhere": "f s"} {
		var got struct{ Items []string }
		s.ask("/filter", `{"user":"u","items":["f","s","d"],"scene":"`+scene+`"}`, &got)
		if strings.Join(got.Items, " ") != want {
			t.Errorf("scene %q: %v, want %s", scene, got.Items, want)
		}
	}
	zone, err := time.LoadLocation("America/Asuncion")
	testbed.OK(t, err)
	for scene, want := range map[string][2]string{"player": {"video", "rotate,slots=3,"}, "search": {"finds", "calendar,slots=4,"}, "": {"", "calendar,slots=4,"}} {
		var got trace.History
		s.ask("/exposures/query", `{"user":"u","scene":"`+scene+`"}`, &got)
		if got.History != want[0] || !strings.HasPrefix(got.Policy, want[1]) || got.Last == nil {
			t.Fatalf("scene %q: %+v", scene, got)
		}
		_, offset := got.Last.Zone()
		if _, is := got.Last.In(zone).Zone(); offset != is {
			t.Errorf("scene %q: the time is %s", scene, got.Last)
		}
	}
	s.ask("/exposures/forget", `{"user":"u"}`, nil)
	for _, scene := range []string{"feed", "search", ""} {
		var got struct{ Items []string }
		if s.ask("/filter", `{"user":"u","items":["f","s","d"],"scene":"`+scene+`"}`, &got); len(got.Items) != 3 {
			t.Errorf("forgotten, scene %q: %v", scene, got.Items)
		}
	}
	s.stop()
}

// TestKinds runs the policy file of the documentation: what was disliked stays out of every scene, what a scene does not
// read or write has no effect there, on HTTP as on the bus, also after a restart. Without the file
// the default history is as it was.
func TestKinds(t *testing.T) {
	t.Parallel()
	dir, policy := t.TempDir(), "../../docs/exposure-policy.json"
	doc, err := os.ReadFile("../../docs/EXPOSURE.md")
	testbed.OK(t, err)
	file, err := os.ReadFile(policy)
	if err != nil || !strings.Contains(string(doc), "```json\n"+string(file)+"```") {
		t.Fatalf("docs/EXPOSURE.md does not show docs/exposure-policy.json: %v", err)
	}
	s := serveReady(t, binary(t), dir, "--nats-listen", "127.0.0.1:0", "--exposure-policy", policy)
	conn := connect(t, s.address.NATS)
	for _, report := range []string{`"seen","items":["s"]`, `"disliked","items":["d"],"scene":"player"`, `"clicked","items":["c"],"scene":"unlisted"`,
		`"played","items":["p"],"scene":"player"`, `"seen","items":["q"],"scene":"search"`} {
		s.ask("/exposures", `{"user":"u","kind":`+report+`}`, nil)
	}
	if _, err := conn.Request("exposures.disliked", []byte(`{"user":"u","items":["b"]}`), patience); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Request("exposures.liked", []byte(`{"user":"u","items":["b"]}`), patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a kind that is not listed, on the bus: %v", err)
	}
	reply, err := conn.Request("exposures.report", []byte(`{"user":"u","kind":"liked","items":["b"]}`), patience)
	if err != nil || !strings.Contains(string(reply.Data)+fmt.Sprint(reply.Header), `"liked": delivered or seen or clicked or disliked`) {
		t.Errorf("a kind that is not listed: %s %v %v", reply.Data, reply.Header, err)
	}
	filters := func(of map[string]string) {
		t.Helper()
		for scene, want := range of {
			s.eventually("scene "+scene+" returns "+want, func() bool {
				var got struct{ Items []string }
				s.ask("/filter", `{"user":"u","items":["b","c","d","p","q","s"],"scene":"`+scene+`"}`, &got)
				return strings.Join(got.Items, " ") == want
			})
		}
	}
	want := map[string]string{"": "c p q", "unlisted": "c p q", "player": "c q s", "search": "c p q s", "digest": "p q"}
	filters(want)
	s.stop()
	s = serveReady(t, binary(t), dir, "--nats-listen", "127.0.0.1:0", "--exposure-policy", policy)
	filters(want)
	s.ask("/exposures/unsee", `{"user":"u","items":["d"],"scene":"search"}`, nil)
	filters(map[string]string{"": "c d p q", "player": "c d q s"})
	s.stop()
	s = serveReady(t, binary(t), dir, "--nats-listen", "127.0.0.1:0")
	filters(map[string]string{"": "b c d p q"})
	s.stop()
}

// TestExposureMetrics: /metrics counts the requests of the test.
func TestExposureMetrics(t *testing.T) {
	t.Parallel()
	s := serveReady(t, binary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0", "--exposure-policy", "rotate,slots=5,capacity=64,tail=16", "--exposure-flush", "50ms")
	conn := connect(t, s.address.NATS)
	var ids []string
	for i := range 250 {
		ids = append(ids, fmt.Sprintf(`"i%d"`, i))
	}
	list := strings.Join(ids, ",")
	s.ask("/exposures", `{"user":"u","kind":"seen","items":[`+list+`]}`, nil)
	s.ask("/exposures", `{"user":"u","kind":"delivered","items":["d1","d2"]}`, nil)
	s.ask("/exposures", `{"user":"v","kind":"played","items":["x"]}`, nil)
	s.ask("/exposures/unsee", `{"user":"u","items":["i200","i249"]}`, nil)
	s.ask("/exposures/forget", `{"user":"v"}`, nil)
	if _, err := conn.Request("exposures.seen", []byte(`{"user":"w"}`), patience); err != nil {
		t.Fatal(err)
	}
	get := func() map[string]float64 {
		m := map[string]float64{}
		for name, value := range s.metrics() {
			m[strings.TrimPrefix(name, "jianguo_exposure_")] = value
		}
		return m
	}
	// No user was asked about, so no user stays in memory once written.
	s.eventually("flushed and refused", func() bool { m := get(); return m["unflushed_keys"] == 0 && m["events_refused_total"] == 1 })
	dropped := 0
	const asked = 20
	for range asked {
		var got struct{ Dropped int }
		s.ask("/filter", `{"user":"u","items":["d1","d2","i249",`+list+`]}`, &got) // i249 twice
		dropped += got.Dropped - 1
	}
	s.eventually("measured", func() bool { return get()["fpr_tests_total"] > 0 })
	m := get()
	var state trace.History
	s.ask("/exposures/query", `{"user":"u"}`, &state)
	for name, want := range map[string]float64{
		"ready": 1, "consumer_lag_events": 0, "unflushed_keys": 0, "unflushed_age_seconds": 0,
		`events_total{kind="seen"}`: 2, `events_total{kind="delivered"}`: 1, `events_total{kind="unsee"}`: 1, `events_total{kind="forget"}`: 1,
		"filter_requests_total": asked, "filter_candidates_total": asked * 253, "filter_degraded_total": 0,
		"filter_dropped_exact_total":  float64(asked * (state.Tail + state.Delivered)),
		"filter_dropped_shards_total": float64(dropped - asked*(state.Tail+state.Delivered)),
		"cache_hits_total":            asked - 1, "cache_misses_total": 1,
		"states_quarantined_total": 0, "swept_users_total": 0,
	} {
		if m[name] != want {
			t.Errorf("%s is %v, want %v", name, m[name], want)
		}
	}
	if len(state.Shards) != 4 || dropped != asked*250 { // 250 and 2 delivered, less 2 un-seen
		t.Errorf("%d dropped, state %+v", dropped, state)
	}
	for _, name := range []string{"flushed_users_total", "flushed_bytes_total", "flush_seconds_count", "head_bytes_count", "cached_users", "cached_bytes", "fpr_expected_total"} {
		if m[name] <= 0 {
			t.Errorf("%s is %v", name, m[name])
		}
	}
	if m["fpr_expected_total"] > 0.001*m["fpr_tests_total"] || m["fpr_positives_total"] > 0.01*m["fpr_tests_total"] {
		t.Errorf("%v of %v random keys are held, %v expected", m["fpr_positives_total"], m["fpr_tests_total"], m["fpr_expected_total"])
	}
	if bytes := float64(state.Bytes); m["flushed_bytes_total"] < bytes {
		t.Errorf("%v bytes flushed, the user takes %v", m["flushed_bytes_total"], bytes)
	}
	s.stop()
}

// TestLargestMessages: messages of the largest size that cannot be applied end as dead
// letters that say how much was cut, and do not hold up the messages behind them. Answers
// do not repeat long input.
func TestLargestMessages(t *testing.T) {
	t.Parallel()
	s := serveReady(t, binary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0")
	conn := connect(t, s.address.NATS, nats.Token(s.address.Token)) // this user may read dead letters
	most := int(conn.MaxPayload())
	long := strings.Repeat("x", 2500<<10)
	for _, m := range [][2]string{
		{"exposures.seen", `{"user":"u","items":["a"],"at":"` + long + `"}`},
		{"exposures.seen.0", strings.Repeat("[", most)},
		{"exposures.delivered", `{"items":["a"],"user":"` + strings.Repeat("u", most-25) + `"}`},
		{"items.publish", strings.Repeat("{", most)},
	} {
		if _, err := conn.Request(m[0], []byte(m[1]), patience); err != nil {
			t.Fatal(m[0], err)
		}
	}
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["b"]}`, nil)
	s.publish(1)
	dead, err := bus.OpenDead(t.Context(), conn, "")
	testbed.OK(t, err)
	letters, err := dead.List(t.Context(), 0, 10)
	if err != nil || len(letters) != 4 {
		t.Fatalf("%d letters, %v", len(letters), err)
	}
	for _, l := range letters {
		if whole := strings.Contains(l.Reason, "RFC 3339"); whole != (l.Cut == 0) || l.Cut > 0 && (l.Cut != most || len(l.Data) >= most) {
			t.Errorf("%s: %d bytes, cut from %d: %s", l.Subject, len(l.Data), l.Cut, l.Reason)
		}
		if err := dead.Replay(t.Context(), l.Number); (err == nil) != (l.Cut == 0) {
			t.Errorf("replay of %d, cut %d: %v", l.Number, l.Cut, err)
		}
	}
	for _, body := range []string{`{"user":"u","kind":"seen","items":["c"],"at":"` + long + `"}`, `{"user":"u","items":["c"],"kind":"` + long + `"}`} {
		status, answer, err := s.post("/exposures", []byte(body))
		if status != 400 || len(answer) > 1000 {
			t.Errorf("%d, %d bytes, %v", status, len(answer), err)
		}
		reply, err := conn.Request("exposures.report", []byte(body), patience)
		if err != nil || reply.Header.Get("Nats-Service-Error-Code") != "400" || len(reply.Data) > 1000 {
			t.Errorf("on the bus: %v", err)
		}
	}
	for _, field := range []string{"scope", "mark"} {
		if status, answer, err := s.post("/filter", []byte(`{"user":"u","items":["c"],"`+field+`":"`+long+`"}`)); status != 400 || len(answer) > 1000 {
			t.Errorf("%s: %d, %d bytes, %v", field, status, len(answer), err)
		}
	}
	s.stop()
}
