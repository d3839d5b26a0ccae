package browse

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jianguo/internal/testbed"
)

// TestDamagedFile: a file that is damaged or of another format is rebuilt
// with the same contents.
func TestDamagedFile(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	x := openTest(t, dir, nil)
	defer func() { _ = x.Close() }()
	fill(t, x, 1, 60)
	b := openModel(t, x)
	follow := func() (map[string][]string, []uint32) {
		t.Helper()
		testbed.OK(t, b.Follow(ctx))
		found, err := b.Search(ctx, []string{"t"}, 100)
		testbed.OK(t, err)
		lists := dump(t, b)
		testbed.OK(t, b.Close())
		return lists, found
	}
	lists, found := follow()
	if len(lists["stories"]) < 10 || len(found) == 0 {
		t.Fatalf("%d stories, %d found", len(lists["stories"]), len(found))
	}
	for way, damage := range map[string]func([]byte) []byte{
		"cut":     func(f []byte) []byte { return f[:len(f)/2] },
		"foreign": func(f []byte) []byte { return slices.Repeat([]byte("见过"), len(f)/6) },
		"empty":   func([]byte) []byte { return nil },
		// The version of its format that may be written, in SQLite's header.
		"not to be written": func(f []byte) []byte { f[18] = 9; return f },
		// The version of our format, the last byte of SQLite's user_version.
		"of another format": func(f []byte) []byte { f[63] = 99; return f },
	} {
		path := filepath.Join(dir, FileName)
		f, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, damage(f), 0o600)
		}
		testbed.OK(t, err)
		b = openModel(t, x)
		lists2, found2 := follow()
		if diff := cmp.Diff(lists, lists2); diff != "" || !slices.Equal(found, found2) {
			t.Errorf("%s: found %d, want %d; lists (-want +got):\n%s", way, len(found2), len(found), diff)
		}
	}
	mustVerify(t, x)
}
