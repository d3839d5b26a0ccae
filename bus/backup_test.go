package bus

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"jianguo/internal/disk"
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
		err := unpack(bytes.NewReader(data), to, 0)
		if bytes.Equal(data, packed.Bytes()) && err != nil {
			t.Error(err)
		}
		if entries, _ := os.ReadDir(parent); len(entries) != 1 {
			t.Errorf("outside of the directory: %v", entries)
		}
	})
}

// TestUnpackKeepsReserve: a small object that unpacks to more than the disk holds is not unpacked.
func TestUnpackKeepsReserve(t *testing.T) {
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	const size = 16 << 30 // of zeros
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "index.db", Size: size, Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, unpackStep)
	for range 8 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	free, err := disk.Disk{Dir: to}.Free()
	if err != nil {
		t.Fatal(err)
	}
	if err := unpack(bytes.NewReader(packed.Bytes()), to, free+1<<30); err == nil || !strings.Contains(err.Error(), "the reserve is") {
		t.Errorf("%d bytes, unpacked: %v", packed.Len(), err)
	}
	if info, err := os.Stat(filepath.Join(to, "index.db")); err != nil || info.Size() != 0 {
		t.Errorf("%v %v", info, err)
	}
}
