// Package jianguo_test holds the house rules: who may import whom.
package jianguo_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// arrows are the imports of ours that a room may have, by top-level folder. A
// room may import its own inner rooms.
var arrows = map[string][]string{
	"data":     nil,
	"segment":  nil,
	"simhash":  nil,
	"sketch":   nil,
	"exposure": nil,
	"bus":      nil,
	"index":    {"simhash", "sketch"},
	"ingest":   {"bus", "segment", "simhash", "sketch", "index"},
	"api":      {"bus", "segment", "ingest", "index", "exposure"},
	"cmd":      {"bus", "data", "segment", "simhash", "sketch", "index", "ingest", "exposure", "api"},
	// Any package may import these: helpers, most of them for tests and measurements.
	"internal": {"simhash"},
	"scripts":  nil,
	"examples": nil,
}

// exceptions are inner rooms that may see more than their house.
var exceptions = map[string][]string{
	"segment/gentables": {"data"},
	// The instrument reads the bundled sample, and computes what it explains.
	"ingest/eval": {"data"},
	// The test fixture for packages above ingest.
	"internal/fixture": {"bus", "data", "index", "ingest", "segment", "sketch"},
	// Behind 技术细节 stands the fingerprint as a picture.
	"api/console": {"simhash"},
	// Tests and pictures of the console run a whole service on the sample.
	"internal/consoletest":       {"api", "bus", "data", "index", "ingest", "segment"},
	"internal/consoletest/shots": {"index"},
}

func TestImportArrows(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		inner, ours := strings.CutPrefix(p.ImportPath, "jianguo/")
		if !ours {
			continue
		}
		seen++
		room, _, _ := strings.Cut(inner, "/")
		allowed, known := arrows[room]
		if !known {
			t.Errorf("%s: the house has no room %q", p.ImportPath, room)
			continue
		}
		for _, imported := range p.Imports {
			target, ours := strings.CutPrefix(imported, "jianguo/")
			if !ours {
				continue
			}
			if other, _, _ := strings.Cut(target, "/"); other != room && other != "internal" && !slices.Contains(allowed, other) && !slices.Contains(exceptions[inner], other) {
				t.Errorf("%s imports %s: %s may import only %v", p.ImportPath, imported, room, allowed)
			}
		}
	}
	if seen < 9 {
		t.Errorf("only %d packages seen", seen)
	}
}

// TestGseLivesInSegment: the segmenter can be exchanged in one place.
func TestGseLivesInSegment(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	users := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		for _, imported := range fields[1:] {
			if !strings.HasPrefix(imported, "github.com/go-ego/gse") {
				continue
			}
			users++
			if !strings.HasPrefix(fields[0], "jianguo/segment") {
				t.Errorf("%s imports %s", fields[0], imported)
			}
		}
	}
	if users == 0 {
		t.Error("nobody imports gse")
	}
}
