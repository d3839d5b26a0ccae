package sqlite

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"jianguo/internal/testbed"
)

// TestCreate: a new file has the pages and the format given, and one that exists keeps its own.
func TestCreate(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "页 %.db")
	if _, ok := Format(path); ok {
		t.Error("a file that is missing has a format")
	}
	for i, size := range []int{8192, 4096} {
		testbed.OK(t, Create(ctx, path, size, 7+i))
		db, err := Open(path, Creates, "NORMAL")
		testbed.OK(t, err)
		sizes, err := Column[int](ctx, db, `PRAGMA page_size`)
		if err != nil || !slices.Equal(sizes, []int{8192}) {
			t.Errorf("asked for %d: %v %v", size, sizes, err)
		}
		if format, ok := Format(path); !ok || format != 7 {
			t.Errorf("format %d, %t", format, ok)
		}
		testbed.OK(t, db.Close())
	}
}
