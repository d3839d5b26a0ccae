package testbed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"jianguo/internal/must"
)

// Programs builds the programs of cmd, which start each other, and returns the folder that
// holds them. All test processes share it: the Go tool links what has changed. A test
// process asks the Go tool once.
func Programs(t testing.TB) string {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var build = sync.OnceValues(func() (string, error) { return must.Try(buildPrograms) })

// buildPrograms panics on errors (must).
func buildPrograms() (dir string) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	must.Dof(err, "go env GOMOD")
	root := filepath.Dir(strings.TrimSpace(string(mod)))
	dir = filepath.Join(root, "bin", "test")
	must.Do(os.MkdirAll(dir, 0o755))
	lock := must.Get(os.OpenFile(filepath.Join(dir, "LOCK"), os.O_CREATE|os.O_RDWR, 0o644))
	defer lock.Close()
	must.Do(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	args := []string{"build", "-ldflags=-s -w", "-o", dir + string(filepath.Separator), "./cmd/..."}
	build := exec.Command("go", args...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		must.Do(fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out))
	}
	return dir
}
