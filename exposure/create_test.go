package exposure

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"jianguo/exposure/verify"
)

// TestCreateInterrupted: a process that is killed while it creates the file leaves no file
// that looks complete, and what it leaves does not disturb the next start.
func TestCreateInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "exposure.db")
	ended := errors.New("ended")
	if _, err := openDatabase(t.Context(), path, false, iotest.ErrReader(ended)); !errors.Is(err, ended) {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + ".begun"); err != nil {
		t.Errorf("ended before anything was made: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
	for _, left := range []string{".begun", ".begun-journal"} {
		if err := os.WriteFile(path+left, []byte("half of it"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := openDatabase(t.Context(), path, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.File(t.Context(), path); err != nil {
		t.Error(err)
	}
	if names, err := filepath.Glob(path + ".begun*"); err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}
