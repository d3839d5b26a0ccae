package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jianguo/internal/clock"
	"jianguo/internal/testbed"
)

// clockEnv names a file that says how far the wall clock of a process is ahead.
const clockEnv = "JIANGUO_TEST_CLOCK"

func jumping(path string) clock.Source {
	system := clock.System()
	return func() (time.Time, time.Duration) {
		wall, elapsed := system()
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		ahead, err := time.ParseDuration(string(text))
		if err != nil {
			panic(err)
		}
		return wall.Add(ahead), elapsed
	}
}

// TestClockJumps: a clock that is six days ahead for a while erases no history, also where
// the process starts again meanwhile.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := filepath.Join(dir, "clock")
	set := func(ahead string) {
		t.Helper()
		testbed.OK(t, os.WriteFile(clock+".new", []byte(ahead), 0o600))
		testbed.OK(t, os.Rename(clock+".new", clock))
	}
	set("0s")
	s := newProcess(t, binary(t), filepath.Join(dir, "data"), "--nats-listen", "127.0.0.1:0", "--exposure-flush", "10ms", "--exposure-policy", "rotate,ttl=120h")
	s.env = []string{clockEnv + "=" + clock}
	s.start()
	s.ready()
	held := func(when string) {
		t.Helper()
		var got struct{ Items []string }
		s.ask("/filter", `{"user":"u","items":["a","new"]}`, &got)
		if len(got.Items) != 1 || got.Items[0] != "new" {
			t.Errorf("%s the filter lets through %v\n%s", when, got.Items, s.log)
		}
	}
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["a"]}`, nil)
	s.eventually("flushed", func() bool { return s.metrics()["jianguo_exposure_unflushed_keys"] == 0 })
	set("144h")
	held("during the jump")
	s.eventually("a warning", func() bool { return strings.Contains(s.log.String(), "the clock has jumped ahead") })
	if ahead := s.metrics()["jianguo_clock_ahead_seconds"]; ahead < 518_000 || ahead >= 519_000 {
		t.Errorf("ahead: %v", ahead)
	}
	s.ask("/exposures", `{"user":"v","kind":"seen","items":["b"]}`, nil)
	s.signal(os.Interrupt)
	<-s.ended
	s.start()
	s.ready()
	s.ask("/exposures", `{"user":"u","kind":"seen","items":["c"]}`, nil)
	held("after a start during the jump")
	set("0s")
	held("after the jump")
	if n := s.metrics()["jianguo_exposure_swept_users_total"]; n != 0 {
		t.Errorf("%v users swept", n)
	}
	s.stop()
	if !strings.Contains(s.log.String(), "the clock is back") {
		t.Errorf("the log does not say that the clock is back:\n%s", s.log)
	}
}
