//go:build !race

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"jianguo/internal/built"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"jianguo-bench": main})
}

// TestScripts runs the real command line through testdata/script, with a jianguo
// built for it in PATH.
func TestScripts(t *testing.T) {
	dir := built.Dir(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("PATH", dir+string(os.PathListSeparator)+e.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"waitfile": waitFile},
	})
}

// waitFile waits until a file holds a text: waitfile FILE TEXT
func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfile FILE TEXT")
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if data, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(data), args[1]) {
			return
		}
	}
	ts.Fatalf("%s does not hold %q after a minute", args[0], args[1])
}
