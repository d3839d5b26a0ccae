// Command jianguo-eval measures detection quality on documents and labels of the user's own.
// `jianguo eval` runs it. It is a program of its own so that the service does not carry it.
package main

import (
	"os"
	"runtime/debug"

	"jianguo/internal/companion"
)

// version is the tag that the binary was built from, or the nearest one before it, with
// the commit.
var version = func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}()

func main() {
	if len(os.Args) > 1 && os.Args[1] == "rejudge" {
		companion.Main(os.Args[2:], "jianguo rejudge", "Judges what arrived lately again under another policy, and lists what would change. Works on a copy; the data directory may be in use and is not changed.", new(rejudgeCmd))
		return
	}
	companion.Main(os.Args[1:], "jianguo eval", "Measures detection quality on documents and labels of your own.", new(evalCmd))
}
