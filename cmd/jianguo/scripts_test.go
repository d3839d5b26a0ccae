//go:build !race

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"jianguo/internal/datadir"
)

// TestScripts runs the real command line through testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			// Commands that wait for a service give up with the test.
			e.Setenv("HOME", e.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"waitfile": waitFile,
			"damage":   damage,
			"busurl":   busURL,
			"feed":     feedDirectory,
		},
		Deadline: time.Now().Add(8 * time.Minute),
	})
}

// waitFile waits until a file holds a text: waitfile FILE TEXT
func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfile FILE TEXT")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(data), args[1]) {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("%s does not hold %q after %v: %s", args[0], args[1], patience, data)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// damage overwrites bytes in the middle of a file: damage FILE
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage FILE")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR, 0)
	ts.Check(err)
	defer f.Close()
	info, err := f.Stat()
	ts.Check(err)
	const page = 8192 // of a catalogue
	_, err = f.WriteAt(make([]byte, page), info.Size()/2/page*page)
	ts.Check(err)
}

// busURL sets BUS, and ADDRESS without its scheme, to where the service on a
// directory has its bus: busurl DIR
func busURL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: busurl DIR")
	}
	var h datadir.Holder
	if err := json.Unmarshal([]byte(ts.ReadFile(filepath.Join(args[0], datadir.LockName))), &h); err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Setenv("BUS", h.NATS)
	ts.Setenv("ADDRESS", strings.TrimPrefix(h.NATS, "nats://"))
}
