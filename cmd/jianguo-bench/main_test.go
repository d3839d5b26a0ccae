//go:build !race

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"jianguo/internal/datadir"
	"jianguo/internal/testbed"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"jianguo-bench": main})
}

// TestScripts runs the real command line through testdata/script, with a jianguo built for it in PATH.
func TestScripts(t *testing.T) {
	dir := testbed.Programs(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("PATH", dir+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("JIANGUO_BINARY", filepath.Join(dir, "jianguo"))
			return nil
		},
	})
}

// TestFilter measures everything once, small and short, with the real server and a real Redis. Every figure must be
// there. The test does not check the values of the figures. A busy machine answers nothing for tens of milliseconds.
func TestFilter(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	c := filterCmd{Against: "redis", Dir: t.TempDir(), Each: 150 * time.Millisecond}
	c.Binary = filepath.Join(testbed.Programs(t), "jianguo")
	var line bytes.Buffer
	testbed.OK(t, c.Run(&streams{ctx: ctx, out: &line}))
	var fields map[string]any
	testbed.OK(t, json.Unmarshal(line.Bytes(), &fields))
	if len(fields) != 2+3*3+2+3 { // of the machine, three ways, Redis, 10,000 candidates
		t.Errorf("%d figures", len(fields))
	}
	for name, v := range fields {
		if n, ok := v.(float64); ok && n <= 0 {
			t.Errorf("%s is %v", name, n)
		}
	}
	if t.Failed() {
		t.Log(line.String())
	}
}

// TestLocked: a directory that another process uses is refused.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	lock, err := datadir.Acquire(dir, datadir.Holder{Command: "serve"})
	testbed.OK(t, err)
	defer lock.Close()
	c := indexCmd{N: 1000, Dir: dir}
	var inUse *datadir.InUseError
	if err := c.Run(&streams{ctx: context.Background()}); !errors.As(err, &inUse) {
		t.Errorf("a locked directory: %v", err)
	}
}
