package bus

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzUnpack: whatever the object store holds, nothing is written outside of the directory.
func FuzzUnpack(f *testing.F) {
	from := f.TempDir()
	if err := os.WriteFile(filepath.Join(from, "index.db"), []byte("rows"), 0o600); err != nil {
		f.Fatal(err)
	}
	var packed bytes.Buffer
	if err := pack(&packed, from); err != nil {
		f.Fatal(err)
	}
	f.Add(packed.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		to := filepath.Join(parent, "to")
		if err := os.Mkdir(to, 0o700); err != nil {
			t.Fatal(err)
		}
		err := unpack(bytes.NewReader(data), to)
		if bytes.Equal(data, packed.Bytes()) && err != nil {
			t.Error(err)
		}
		if entries, _ := os.ReadDir(parent); len(entries) != 1 {
			t.Errorf("outside of the directory: %v", entries)
		}
	})
}
