package jianguo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jianguo/internal/testbed"
)

// TestPromises: every promise of docs/promises.md stands in its document in these words,
// and the test that holds it exists.
func TestPromises(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.FromSlash(name))
		testbed.OK(t, err)
		return strings.Join(strings.Fields(string(text)), " ")
	}
	page, err := os.ReadFile(filepath.Join("docs", "promises.md"))
	testbed.OK(t, err)
	promises := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.Contains(line, "|") || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "promise" {
			continue
		}
		if len(cells) != 3 {
			t.Errorf("want a promise, its document and its test: %s", line)
			continue
		}
		promises++
		promise, document, test := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		if !strings.Contains(strings.ReplaceAll(read(document), "**", ""), promise) {
			t.Errorf("%s does not promise %q any more: correct docs/promises.md", document, promise)
		}
		folder, name, ok := strings.Cut(test, ".")
		if !ok {
			folder, name = ".", test
		}
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*_test.go"))
		testbed.OK(t, err)
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			testbed.OK(t, err)
			found = found || strings.Contains(string(text), "\nfunc "+name+"(t *testing.T")
		}
		if !found {
			t.Errorf("no test %s holds %q", test, promise)
		}
	}
	if promises < 40 {
		t.Errorf("%d promises", promises)
	}
}

// TestDefences: each defence of SECURITY.md has tests. TestNamedTestsExist holds their names.
func TestDefences(t *testing.T) {
	page, err := os.ReadFile("SECURITY.md")
	testbed.OK(t, err)
	defences := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.TrimSpace(cells[0]) == "threat" {
			continue
		}
		if defences++; len(cells) != 3 || !testName.MatchString(cells[2]) {
			t.Errorf("no test holds: %s", line)
		}
	}
	if defences < 15 {
		t.Errorf("%d defences", defences)
	}
}

var testName = regexp.MustCompile("`(Test[A-Z][A-Za-z]+)`")

// TestNamedTestsExist: a test that a document names exists.
func TestNamedTestsExist(t *testing.T) {
	tests := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return err
	})
	testbed.OK(t, err)
	files, err := filepath.Glob("docs/*.md")
	testbed.OK(t, err)
	more, err := filepath.Glob("docs/decisions/*.md")
	testbed.OK(t, err)
	for _, file := range append(append(files, more...), "SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "README.md") {
		text, err := os.ReadFile(file)
		testbed.OK(t, err)
		for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
			if !tests[m[1]] {
				t.Errorf("%s names %s, and there is no such test", file, m[1])
			}
		}
	}
}

// TestLogLines: the service logs each message of the table in docs/OPERATIONS.md in these words.
func TestLogLines(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "OPERATIONS.md"))
	testbed.OK(t, err)
	var source strings.Builder
	err = filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := os.ReadFile(path)
		source.Write(file)
		return err
	})
	testbed.OK(t, err)
	code := regexp.MustCompile(`"\+\s+"`).ReplaceAllString(source.String(), "")
	lines := regexp.MustCompile("(?m)^\\| (?:ERROR|WARN|INFO) \\| `([^`]+)`").FindAllStringSubmatch(string(page), -1)
	for _, line := range lines {
		if !strings.Contains(code, `"`+line[1]+`"`) {
			t.Errorf("nothing logs %q", line[1])
		}
	}
	if len(lines) < 10 {
		t.Errorf("the table has %d lines", len(lines))
	}
}
