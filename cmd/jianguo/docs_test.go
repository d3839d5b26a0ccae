package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jianguo/internal/testbed"
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
// neither it nor the alert rules nor the dashboards name any other, or a label that no
// metric has. Every alert has its paragraph.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	s := serve(t, plainBinary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0")
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
	names["jianguo_service_requests_total"] = true        // shown once the bus was asked
	names["jianguo_http_connections_closed_total"] = true // shown once one was closed
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		testbed.OK(t, err)
		return string(text)
	}
	operations := read("docs/OPERATIONS.md")
	documented := metricNames(operations)
	for name := range names {
		if !documented[name] {
			t.Errorf("%s is not in OPERATIONS.md", name)
		}
	}
	files := []string{"docs/OPERATIONS.md", "deploy/alerts.yml", "docs/moving-from-redis.md"}
	for _, name := range []string{"ingest", "index", "exposure", "console"} {
		files = append(files, "deploy/grafana/"+name+".json")
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".json") && !json.Valid([]byte(read(file))) {
			t.Errorf("%s is not JSON", file)
		}
		for name := range metricNames(read(file)) {
			if !names[name] {
				t.Errorf("%s names %s, which is no metric", file, name)
			}
		}
	}
	labels := map[string]bool{"instance": true, "le": true, "job": true, "service": true}
	for _, m := range labelName.FindAllStringSubmatch(string(shown), -1) {
		labels[m[1]] = true
	}
	labels["subject"], labels["which"] = true, true // of these two
	for _, file := range files[1:] {
		for _, m := range labelUsed.FindAllStringSubmatch(strings.ReplaceAll(read(file), `\"`, `"`), -1) {
			for _, name := range regexp.MustCompile(`[a-z_]+`).FindAllString(m[1]+m[2]+m[3], -1) {
				if !labels[name] {
					t.Errorf("%s uses the label %s, which no metric has", file, name)
				}
			}
		}
	}
	alerts := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(read("deploy/alerts.yml"), -1)
	for _, m := range alerts {
		if !strings.Contains(operations, "\n**"+m[1]+".** ") {
			t.Errorf("OPERATIONS.md has no paragraph about the alert %s", m[1])
		}
	}
	if told := len(regexp.MustCompile(`(?m)^\*\*Jianguo\w+\.\*\* `).FindAllString(operations, -1)); told != len(alerts) || told == 0 {
		t.Errorf("OPERATIONS.md has paragraphs about %d alerts, there are %d", told, len(alerts))
	}
}

var (
	labelName = regexp.MustCompile(`[{,]([a-z_]+)="`)
	// by (LABELS), LABEL= and LABEL=~ in braces, {{LABEL}}
	labelUsed = regexp.MustCompile(`by \(([a-z_, ]+)\)|[{,]([a-z_]+)=~?"|\{\{([a-z_]+)\}\}`)
)

var flagName = regexp.MustCompile(`--[a-z][a-z-]+`)

// TestFlagsAreDocumented: README.md and docs name every flag of the service.
func TestFlagsAreDocumented(t *testing.T) {
	t.Parallel()
	help, err := exec.Command(plainBinary(t), "serve", "--help").Output()
	testbed.OK(t, err)
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	testbed.OK(t, err)
	documented := map[string]bool{"--help": true, "--version": true}
	for _, file := range append(files, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(file)
		testbed.OK(t, err)
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

// TestCompose: deploy/compose.yaml sets what the service knows, and has the bus that is tested.
func TestCompose(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(filepath.Join("..", "..", "deploy", "compose.yaml"))
	testbed.OK(t, err)
	help, err := exec.Command(plainBinary(t), "serve", "--help").Output()
	testbed.OK(t, err)
	for _, name := range regexp.MustCompile(`JIANGUO_[A-Z_]+`).FindAllString(string(file), -1) {
		if !strings.Contains(string(help), "$"+name+")") {
			t.Errorf("serve has no flag for %s", name)
		}
	}
	module, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	testbed.OK(t, err)
	version := regexp.MustCompile(`nats-server/v2 v(\S+)`).FindSubmatch(module)
	if version == nil || !strings.Contains(string(file), "image: nats:"+string(version[1])+"\n") {
		t.Errorf("the bus is not of the version in go.mod, %s", version)
	}
}
