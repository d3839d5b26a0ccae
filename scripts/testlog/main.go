// Command testlog reads `go test -json` on standard input. It prints failed
// tests in full, one line for each package, and the slowest tests. It exits with
// 1 if a test failed or was skipped: a skipped test proves nothing.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// event is one line of `go test -json`.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

// log is what was read so far.
type log struct {
	to                      io.Writer
	output                  map[string]*strings.Builder // of running tests and packages
	tests                   []event                     // finished tests, without subtests
	passed, failed, skipped int
}

func main() {
	slowest := flag.Int("slowest", 10, "print so many of the slowest tests")
	flag.Parse()
	l := log{to: os.Stdout, output: map[string]*strings.Builder{}}
	if err := l.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
		os.Exit(1)
	}
	l.summarize(*slowest)
	if l.failed > 0 || l.skipped > 0 {
		os.Exit(1)
	}
}

func (l *log) read(from io.Reader) error {
	in := bufio.NewScanner(from)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Fprintln(l.to, in.Text())
			continue
		}
		l.add(e)
	}
	return in.Err()
}

func (l *log) add(e event) {
	key := e.Package + "\x00" + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(l.to, e.Output)
	case "output":
		if l.output[key] == nil {
			l.output[key] = new(strings.Builder)
		}
		l.output[key].WriteString(e.Output)
	case "pass", "fail", "skip":
		var output string
		if b := l.output[key]; b != nil {
			output = b.String()
		}
		delete(l.output, key)
		if e.Test == "" {
			l.finishPackage(e, output)
		} else {
			l.finishTest(e, output)
		}
	}
}

func (l *log) finishPackage(e event, output string) {
	if e.Action == "skip" {
		return // it has no tests
	}
	fmt.Fprintf(l.to, "%-4s %-40s %7.1f s\n", e.Action, e.Package, e.Elapsed)
	if e.Action == "fail" {
		fmt.Fprint(l.to, output)
	}
}

func (l *log) finishTest(e event, output string) {
	switch e.Action {
	case "pass":
		l.passed++
	case "fail":
		l.failed++
	case "skip":
		l.skipped++
	}
	if e.Action != "pass" {
		fmt.Fprintf(l.to, "--- %s %s %s\n%s", strings.ToUpper(e.Action), e.Package, e.Test, output)
	}
	if !strings.Contains(e.Test, "/") {
		l.tests = append(l.tests, e)
	}
}

func (l *log) summarize(slowest int) {
	slices.SortStableFunc(l.tests, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	fmt.Fprintf(l.to, "the slowest tests:\n")
	for _, e := range l.tests[:min(slowest, len(l.tests))] {
		fmt.Fprintf(l.to, "%9.1f s  %s %s\n", e.Elapsed, e.Package, e.Test)
	}
	fmt.Fprintf(l.to, "%d passed, %d failed, %d skipped\n", l.passed, l.failed, l.skipped)
}
