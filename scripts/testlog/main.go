// Command testlog reads `go test -json` on standard input. It prints failed tests in full, one line for each package,
// and the slowest tests. It exits with 1 if a test failed or was skipped: a skipped test proves nothing.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
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

func main() {
	ok, err := summarize(os.Stdin, os.Stdout, 10)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// summarize reports whether every test ran and passed.
func summarize(from io.Reader, to io.Writer, slowest int) (ok bool, err error) {
	output, count := map[string]string{}, map[string]int{} // what tests printed; results
	var tests []event                                      // without subtests
	in := bufio.NewScanner(from)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Fprintln(to, in.Text())
			continue
		}
		key := e.Package + "\x00" + e.Test
		switch e.Action {
		case "build-output":
			fmt.Fprint(to, e.Output)
		case "output":
			output[key] += e.Output
		case "pass", "fail", "skip":
			said := output[key]
			delete(output, key)
			switch {
			case e.Test != "":
				count[e.Action]++
				if e.Action != "pass" {
					fmt.Fprintf(to, "--- %s %s %s\n%s", strings.ToUpper(e.Action), e.Package, e.Test, said)
				}
				if !strings.Contains(e.Test, "/") {
					tests = append(tests, e)
				}
			case e.Action != "skip": // a package with tests
				fmt.Fprintf(to, "%-4s %-40s %7.1f s\n", e.Action, e.Package, e.Elapsed)
				if e.Action == "fail" {
					fmt.Fprint(to, said)
				}
			}
		}
	}
	slices.SortStableFunc(tests, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	fmt.Fprintf(to, "the slowest tests:\n")
	for _, e := range tests[:min(slowest, len(tests))] {
		fmt.Fprintf(to, "%9.1f s  %s %s\n", e.Elapsed, e.Package, e.Test)
	}
	fmt.Fprintf(to, "%d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"])
	return count["fail"]+count["skip"] == 0, in.Err()
}
