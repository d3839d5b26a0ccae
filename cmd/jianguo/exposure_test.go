package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"jianguo/ingest"
)

// TestDeadExposures publishes events that nobody can apply and finds them among the
// dead letters with their reasons; replays one after what was wrong is no more; and
// forgets the user of another.
func TestDeadExposures(t *testing.T) {
	s := serve(t, binary(t), t.TempDir(), "--nats-listen", "127.0.0.1:0")
	s.eventually("ready", func() bool { return s.status("/readyz") == 200 })
	conn, err := ingest.ConnectURL(s.at.NATS)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	dead := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(s.binary, append([]string{"dead", "--data", s.data}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("dead %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	for _, m := range [][2]string{
		{"exposures.seen.0", `{"user":"ann","items":"no list"}`},
		{"exposures.delivered", `{"user":"bob","items":["a"],"at":"yesterday"}`},
		{"exposures.seen.0", `{"user":"bob","items":[""]}`},
		{"exposures.seen", `not JSON`},
		{"exposures.seen.0", `{"user":"ann","items":["kept"]}`},
	} {
		// Asked and not told: what JetStream has not taken is an error here.
		if _, err := conn.Request(m[0], []byte(m[1]), 10*time.Second); err != nil {
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

	if status, body, err := s.post("/exposures/forget", []byte(`{"user":"bob"}`)); status != 204 || err != nil {
		t.Fatal(status, string(body), err)
	}
	if l := lines(); len(l) != 2 || strings.Contains(strings.Join(l, ""), "yesterday") {
		t.Errorf("after bob was forgotten: %s", l)
	}
	if _, body, err := s.post("/filter", []byte(`{"user":"ann","items":["kept","new"]}`)); string(body) != `{"items":["new"],"dropped":1}` || err != nil {
		t.Errorf("the good event among the bad: %s %v", body, err)
	}
	s.stop()
}
