package exposure

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"jianguo/exposure/state"
	"jianguo/internal/sqlite"
	"jianguo/internal/testbed"
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
		testbed.OK(t, os.WriteFile(path+left, []byte("half of it"), 0o600))
	}
	d, err := openDatabase(t.Context(), path, false, nil)
	testbed.OK(t, err)
	testbed.OK(t, d.close())
	if _, err := VerifyFile(t.Context(), path); err != nil {
		t.Error(err)
	}
	if names, err := filepath.Glob(path + ".begun*"); err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}

// A service notices after a second that its state file was removed. Until then no connection that is opened makes an empty
// file, whose place the copy of the removed one could not take.
func TestRemovedFileIsNotMadeAgain(t *testing.T) {
	dir := t.TempDir()
	copied := filepath.Join(dir, "copied.db")
	f := newFixture(t, Config{Path: filepath.Join(dir, "exposure.db")})
	f.report(state.Seen, "u", "a")
	ctx := context.Background()
	testbed.OK(t, errors.Join(f.Flush(ctx), os.Remove(f.cfg.Path)))
	var open []*sql.Conn
	refused := 0
	for range readConnections + 2 {
		if c, err := f.db.read.Conn(ctx); err != nil {
			refused++
		} else {
			open = append(open, c)
		}
	}
	if _, err := os.Stat(f.cfg.Path); refused == 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%d connections were refused; the file: %v", refused, err)
	}
	for _, c := range open {
		_ = c.Close()
	}
	if err := errors.Join(f.CopyTo(ctx, copied), f.Close(), sqlite.Remove(f.cfg.Path), os.Rename(copied, f.cfg.Path)); err != nil {
		t.Fatal(err)
	}
	f.open()
	if got := f.unseenOf("u", "a", "b"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %v", got)
	}
}
