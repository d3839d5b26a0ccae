package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	metricName  = regexp.MustCompile(`jianguo_[a-z_]+[a-z]`)
	histogrammy = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// metricNames returns the metrics that a text names, histograms without their suffixes.
func metricNames(text string) map[string]bool {
	names := map[string]bool{}
	for _, name := range metricName.FindAllString(text, -1) {
		names[histogrammy.ReplaceAllString(name, "")] = true
	}
	return names
}

// TestMetricsAreDocumented: docs/OPERATIONS.md names every metric of the service, and
// neither it nor the alert rules name any other.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
	for path, body := range map[string]string{"/items": string(article(1)), "/exposures": `{"user":"u","kind":"seen","items":["n1"]}`} {
		if status, answer, err := s.post(path, []byte(body)); status/100 != 2 {
			t.Fatal(status, string(answer), err)
		}
	}
	status, shown, err := s.get("/metrics")
	if err != nil || status != 200 {
		t.Fatal(status, err)
	}
	s.stop()
	var given strings.Builder
	for line := range strings.Lines(string(shown)) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			given.WriteString(rest)
		}
	}
	names := metricNames(given.String())
	names["jianguo_service_requests_total"] = true // shown once the bus was asked
	read := func(file string) map[string]bool {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
		if err != nil {
			t.Fatal(err)
		}
		return metricNames(string(text))
	}
	documented, alerts := read("OPERATIONS.md"), read("alerts.yml")
	for name := range names {
		if !documented[name] {
			t.Errorf("%s is not in OPERATIONS.md", name)
		}
	}
	for name := range documented {
		if !names[name] {
			t.Errorf("OPERATIONS.md names %s, which is no metric", name)
		}
	}
	for name := range alerts {
		if !names[name] {
			t.Errorf("alerts.yml names %s, which is no metric", name)
		}
	}
}

var flagName = regexp.MustCompile(`--[a-z][a-z-]+`)

// TestFlagsAreDocumented: README.md and docs name every flag of the service.
func TestFlagsAreDocumented(t *testing.T) {
	t.Parallel()
	help, err := exec.Command(binary(t), "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{"--help": true}
	for _, file := range append(files, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range flagName.FindAllString(string(text), -1) {
			documented[name] = true
		}
	}
	names := flagName.FindAllString(string(help), -1)
	if len(names) < 20 {
		t.Fatalf("%d flags in the help", len(names))
	}
	for _, name := range names {
		if !documented[name] {
			t.Errorf("%s is in neither README.md nor docs", name)
		}
	}
}
