// Package jianguo_test holds the rules that no compiler checks: which package may
// import which.
package jianguo_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jianguo/internal/testbed"
)

// arrows are the imports of ours that a package and its sub-packages may have, by
// top-level folder. All in one folder may import each other, except as users says.
var arrows = map[string][]string{
	"data":     nil,
	"segment":  nil,
	"simhash":  nil,
	"compare":  {"data"},
	"exposure": nil,
	"bus":      nil,
	"index":    {"simhash", "compare"},
	"ingest":   {"bus", "segment", "simhash", "compare", "index"},
	"api":      {"bus", "segment", "ingest", "index", "exposure"},
	"cmd":      {"bus", "data", "segment", "simhash", "compare", "index", "ingest", "exposure", "api"},
	// Any package may import these: helpers, most of them for tests and measurements.
	"internal": {"simhash"},
	"examples": nil,
}

// exceptions are sub-packages that may import more than their folder.
var exceptions = map[string][]string{
	"segment/gentables": {"data"},
	// The evaluation reads the bundled sample, and computes what it explains.
	"ingest/eval": {"data"},
	// The test fixture for packages above ingest.
	"internal/fixture": {"api", "bus", "data", "index", "ingest", "segment", "compare"},
	// The differences of two texts are drawn from the alignment that judged them.
	"api/console": {"compare"}, "api/console/diff": {"compare"},
}

// users are the folders whose sub-packages are their own business: only packages of the
// folder and cmd/jianguo-bench import them, and those that are listed here.
var users = map[string]map[string][]string{
	"index": {
		"index/browse":  {"api", "api/console", "cmd/jianguo"},
		"index/stories": {"api/console", "cmd/jianguo", "ingest/eval"},
		// The evaluation judges a text against one other text.
		"index/match": {"ingest/eval"},
		// Commands copy and judge again what a data directory holds; the console shows what that said.
		"index/maintain": {"cmd/jianguo", "api/console"},
	},
}

// mayUse reports whether a package may import a sub-package of a folder, as users says.
func mayUse(importer, target string) bool {
	folder, _, inner := strings.Cut(target, "/")
	listed, own := users[folder]
	if !inner || !own || strings.HasPrefix(importer+"/", folder+"/") || strings.HasPrefix(importer+"/", "cmd/jianguo-bench/") {
		return true
	}
	return slices.Contains(listed[target], importer)
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
		folder, _, _ := strings.Cut(inner, "/")
		allowed, known := arrows[folder]
		if !known {
			t.Errorf("%s: there are no rules for the folder %q", p.ImportPath, folder)
			continue
		}
		for _, imported := range p.Imports {
			target, ours := strings.CutPrefix(imported, "jianguo/")
			if !ours {
				continue
			}
			if other, _, _ := strings.Cut(target, "/"); other != folder && other != "internal" && !slices.Contains(allowed, other) && !slices.Contains(exceptions[inner], other) {
				t.Errorf("%s imports %s: %s may import only %v", p.ImportPath, imported, folder, allowed)
			}
			if !mayUse(inner, target) {
				t.Errorf("%s imports %s, which is a sub-package of another folder", p.ImportPath, imported)
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
	testbed.OK(t, err)
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
		t.Error("no package imports gse")
	}
}

// TestFetchesNoURL: nothing but commands and examples has a client of HTTP: a URL in an article stays one.
func TestFetchesNoURL(t *testing.T) {
	client := regexp.MustCompile(`http\.(Get|Head|Post|PostForm|Client|DefaultClient|DefaultTransport|Transport|NewRequest)\b`)
	with := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if client.Match(text) {
			with[path] = true
		}
		return err
	})
	testbed.OK(t, err)
	for path := range with {
		if path != "cmd/jianguo/health.go" && !strings.HasPrefix(path, "cmd/jianguo-bench/") && !strings.HasPrefix(path, "examples/") {
			t.Errorf("%s has a client of HTTP", path)
		}
	}
	if !with["cmd/jianguo/health.go"] {
		t.Error("a client of HTTP is not recognised")
	}
}
