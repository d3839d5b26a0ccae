package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"jianguo/internal/testbed"
)

// TestSpareProcessor reads from the service how many goroutines it runs at a time: one
// more than there are processors, one on a single processor, and as many as the operator
// sets.
func TestSpareProcessor(t *testing.T) {
	t.Parallel()
	was := runtime.GOMAXPROCS(0)
	runtime.SetDefaultGOMAXPROCS()
	spare := runtime.GOMAXPROCS(was) + 1
	if spare == 2 {
		spare = 1
	}
	for chosen, want := range map[string]int{"": spare, "1": 1, "2": 2, "5": 5} {
		t.Run("chosen "+chosen, func(t *testing.T) {
			t.Parallel()
			s := newProcess(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
			s.env = []string{"GOMAXPROCS=" + chosen}
			s.start()
			s.ready()
			_, metrics, err := s.get("/metrics")
			testbed.OK(t, err)
			m := regexp.MustCompile(`(?m)^go_sched_gomaxprocs_threads (\d+)$`).FindSubmatch(metrics)
			if m == nil || string(m[1]) != fmt.Sprint(want) {
				t.Errorf("%q, want %d", m, want)
			}
			s.stop()
		})
	}
}
