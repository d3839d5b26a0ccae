//go:build !race

package filterbench

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jianguo/internal/built"
	"jianguo/internal/tier"
	"jianguo/internal/userbase"
)

// TestRun measures everything once, small and short, with the real server and a real
// Redis. Every figure must be there. All ways must give the same answer, which pipelined
// checks. The test does not check the values of the figures.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	commands := built.Dir(t)
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("%v (Debian: apt-get install redis-server)", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	r, err := Run(ctx, Options{Dir: dir, Redis: redis, Each: time.Duration(tier.Count(40, 100, 100)) * time.Millisecond, Seen: 500, Candidates: 500, Users: 200, Events: 1000,
		Mix:     []userbase.Share{{Part: 0.9, Keys: 50}, {Part: 0.1, Keys: 2000}},
		Jianguo: filepath.Join(commands, "jianguo"), Control: []string{filepath.Join(commands, "jianguo-bench"), "control"}})
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", line)
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		t.Fatal(err)
	}
	for name, v := range fields {
		if strings.Contains(name, "quiet") {
			continue // there may be no undisturbed slice
		}
		if n, ok := v.(float64); ok && n <= 0 {
			t.Errorf("%s is %v", name, n)
		}
	}
}

func TestSteal(t *testing.T) {
	for stat, want := range map[string]int{
		"cpu  571467 2614 133764 630048 6681 0 3926 49560 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n": 49560,
		"cpu  571467 2614 133764 630048\n":                                                  0, // before Linux 2.6.11
		"":                                                                                  0,
	} {
		if got := steal([]byte(stat)); got != want {
			t.Errorf("%q: %d, want %d", stat, got, want)
		}
	}
	var m measured
	m.slice(latencies{4, 2, 1, 3}, latencies{0}, 0.5, false)
	m.slice(latencies{100, 200}, latencies{0}, 0.5, true)
	m.round()
	if f := m.figures(); f.quiet != 0.5 || f.quiet50 != 3 || f.quiet99 != 4 || f.p99 != 200 {
		t.Errorf("one of two slices was disturbed: %+v", f)
	}
}
