package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"testing"
)

// TestSpareProcessor reads from the service how many goroutines it runs at a time: one
// more than there are processors, one on one of them, and as many as the operator says.
func TestSpareProcessor(t *testing.T) {
	path := binary(t)
	was := runtime.GOMAXPROCS(0)
	runtime.SetDefaultGOMAXPROCS()
	spare := runtime.GOMAXPROCS(was) + 1
	if spare == 2 {
		spare = 1
	}
	for chosen, want := range map[string]int{"": spare, "1": 1, "2": 2, "5": 5} {
		t.Run("chosen "+chosen, func(t *testing.T) {
			t.Setenv("GOMAXPROCS", chosen)
			s := serve(t, path, t.TempDir())
			defer s.stop()
			s.eventually("ready", func() bool { return s.status("/readyz") == 200 })
			resp, err := http.Get(s.at.HTTP + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			metrics, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			m := regexp.MustCompile(`(?m)^go_sched_gomaxprocs_threads (\d+)$`).FindSubmatch(metrics)
			if m == nil || string(m[1]) != fmt.Sprint(want) {
				t.Errorf("%q, want %d", m, want)
			}
		})
	}
}
