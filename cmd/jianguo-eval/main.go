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
	args := os.Args[1:]
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "explain":
		companion.Main(args[1:], "jianguo explain", "Shows how a later text is judged against an earlier one, and every number behind it.", new(explainCmd))
	case "fingerprint":
		companion.Main(args[1:], "jianguo fingerprint", "Prints the fingerprint of every line of standard input.", new(fingerprintCmd))
	case "rejudge":
		companion.Main(args[1:], "jianguo rejudge", "Judges what arrived lately again under another policy, and lists what would change. Works on a copy; the data directory may be in use and is not changed.", new(rejudgeCmd))
	default:
		companion.Main(args, "jianguo eval", "Measures detection quality on documents and labels of your own.", new(evalCmd))
	}
}
