package bus

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go/jetstream"

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

// TestUnpackRefuses: what no backup has is refused before it fills a disk or takes a day, and nothing leads out of the
// directory.
func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	var many, deep []tar.Header
	for n := range maxParts + 1 {
		many = append(many, tar.Header{Name: fmt.Sprint("f", n), Typeflag: tar.TypeReg})
	}
	deep = append(deep, tar.Header{Name: strings.Repeat("d/", maxParts), Typeflag: tar.TypeDir})
	for name, c := range map[string]struct {
		headers []tar.Header
		behind  int
		says    string
	}{
		"empty files":   {many, 0, "its paths have more than 10000 parts"},
		"deep":          {deep, 0, "its paths have more than 10000 parts"},
		"zeros behind":  {nil, 1 << 20, "something follows its end"},
		"up":            {[]tar.Header{{Name: "../x", Typeflag: tar.TypeReg}}, 0, "path escapes"},
		"up below":      {[]tar.Header{{Name: "a", Typeflag: tar.TypeDir}, {Name: "a/../../x", Typeflag: tar.TypeDir}}, 0, "path escapes"},
		"from the root": {[]tar.Header{{Name: "/tmp/x", Typeflag: tar.TypeReg}}, 0, "path escapes"},
		"link":          {[]tar.Header{{Name: "l", Linkname: "..", Typeflag: tar.TypeSymlink}}, 0, `"l" is neither a file nor a directory`},
		"hard link":     {[]tar.Header{{Name: "l", Linkname: "../x", Typeflag: tar.TypeLink}}, 0, `"l" is neither a file nor a directory`},
		"device":        {[]tar.Header{{Name: "d", Typeflag: tar.TypeBlock}}, 0, `"d" is neither a file nor a directory`},
		"twice":         {[]tar.Header{{Name: "x", Typeflag: tar.TypeReg}, {Name: "x", Typeflag: tar.TypeReg}}, 0, "exists"},
		"another's":     {[]tar.Header{{Name: "./" + manifestName, Typeflag: tar.TypeReg}}, 0, "exists"},
	} {
		var packed bytes.Buffer
		z, err := zstd.NewWriter(&packed)
		if err != nil {
			t.Fatal(err)
		}
		w := tar.NewWriter(z)
		for _, h := range c.headers {
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
		}
		_, err = z.Write(make([]byte, 1024+c.behind)) // an end, and what follows
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		parent := t.TempDir()
		to := filepath.Join(parent, "to")
		err = errors.Join(os.Mkdir(to, 0o700), os.WriteFile(filepath.Join(to, manifestName), nil, 0o600))
		if err != nil {
			t.Fatal(err)
		}
		if err := unpack(&packed, to, 0); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if entries, _ := os.ReadDir(parent); len(entries) != 1 {
			t.Errorf("%s: outside of the directory: %v", name, entries)
		}
	}
}

// TestForeignBucket: a backup leaves the object store of another application as it is, and a restore says where it found
// what is no backup.
func TestForeignBucket(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	b, err := Start(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	nc, err := b.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js := JetStream(nc)
	store, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket, TTL: time.Hour})
	if err == nil {
		_, err = store.PutString(ctx, objectName, "chairs")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Upload(ctx, nc, "", 1, dir); err == nil || !strings.Contains(err.Error(), "belongs to another application") {
		t.Error(err)
	}
	if is, err := store.Status(ctx); err != nil || is.TTL() != time.Hour {
		t.Error(is, err)
	}
	if _, err := Download(ctx, nc, "", dir, 0); err == nil || !strings.Contains(err.Error(), "the backup in object store BACKUP") {
		t.Error(err)
	}
	for range 2 {
		if _, err := Upload(ctx, nc, "OURS_", 1, dir); err != nil {
			t.Error(err)
		}
	}
}
