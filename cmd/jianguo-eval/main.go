// Command jianguo-eval studies detection: it is what `jianguo eval`, `rejudge`, `explain` and
// `fingerprint` run. It is a program of its own so that the service does not carry it.
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
	companion.Commands{
		"eval":        {Command: new(evalCmd), About: "Measures detection quality on documents and labels of your own."},
		"explain":     {Command: new(explainCmd), About: "Shows how a later text is judged against an earlier one, and every number behind it."},
		"fingerprint": {Command: new(fingerprintCmd), About: "Prints the fingerprint of every line of standard input."},
		"rejudge":     {Command: new(rejudgeCmd), About: "Judges what arrived lately again under another policy, and lists what would change. Works on a copy; the data directory may be in use and is not changed."},
	}.Main(os.Args[1:])
}
