// Command testlog reads `go test -json` on standard input, prints what failed
// in full and a line a package, and exits with 1 if a test failed or was
// skipped: a test that did not run proves nothing.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64
	Output  string
}

func main() {
	output := map[string]*strings.Builder{}
	var passed, failed, skipped int
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text())
			continue
		}
		key := e.Package + "\x00" + e.Test
		switch e.Action {
		case "output", "build-output":
			if output[key] == nil {
				output[key] = new(strings.Builder)
			}
			output[key].WriteString(e.Output)
			if e.Action == "build-output" {
				fmt.Print(e.Output)
			}
		case "pass", "fail", "skip":
			if e.Test == "" {
				fmt.Printf("%-4s %-40s %7.1f s\n", e.Action, e.Package, e.Elapsed)
				if e.Action == "fail" && output[key] != nil {
					fmt.Print(output[key])
				}
				continue
			}
			switch e.Action {
			case "pass":
				passed++
			case "fail":
				failed++
			case "skip":
				skipped++
			}
			if e.Action != "pass" {
				fmt.Printf("--- %s %s %s\n%s", strings.ToUpper(e.Action), e.Package, e.Test, output[key])
			}
			delete(output, key)
		}
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 || skipped > 0 {
		os.Exit(1)
	}
}
