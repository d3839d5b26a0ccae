package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/datadir"
)

// The last backup that was uploaded lies in an object store of the bus, as a tar file in zstd.
const (
	bucket     = "BACKUP"
	objectName = "data.tar.zst"
)

// upload puts a directory into the object store of a bus, in the place of what is there.
func upload(ctx context.Context, conn *nats.Conn, prefix string, replicas int, dir string) (size uint64, err error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return 0, err
	}
	store, err := js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: prefix + bucket, Replicas: replicas, Description: "the last backup, for jianguo restore"})
	if err != nil {
		return 0, fmt.Errorf("object store %s: %w", prefix+bucket, err)
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(pack(w, dir)) }()
	info, err := store.Put(ctx, jetstream.ObjectMeta{Name: objectName}, r)
	_ = r.Close() // ends pack after an error
	if err != nil {
		return 0, fmt.Errorf("object store %s: %w", prefix+bucket, err)
	}
	return info.Size, nil
}

func pack(w io.Writer, dir string) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	return errors.Join(t.AddFS(os.DirFS(dir)), t.Close(), z.Close())
}

// unpackDir writes the files of a tar file into a directory that is there.
func unpackDir(r io.Reader, dir string) error {
	z, err := zstd.NewReader(r)
	if err != nil {
		return err
	}
	defer z.Close()
	root, err := os.OpenRoot(dir) // no name leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, z) // to the end, where the sum is compared
			return err
		}
		if err != nil {
			return err
		}
		if h.Name == datadir.ManifestName {
			continue // it is written when the copy is complete
		}
		if h.Typeflag == tar.TypeDir {
			if err := root.MkdirAll(h.Name, 0o700); err != nil {
				return err
			}
			continue
		}
		f, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, t)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

type restoreCmd struct {
	NATS     string `name:"nats" help:"The bus that holds the backup." required:"" placeholder:"URL"`
	To       string `arg:"" help:"The data directory to create."`
	Replace  bool   `help:"If it exists, give it another name, which ends in the time, and keep it."`
	NoVerify bool   `help:"Do not verify the copy; verifying takes as long as a start."`
	busAccess
}

// Run makes a data directory of the backup that a bus holds.
func (c *restoreCmd) Run(co *streams) error {
	service := reachFlags{NATS: c.NATS, busAccess: c.busAccess}
	conn, err := service.connect(&co.ctx, co.log)
	if err != nil {
		return err
	}
	defer conn.Close()
	to := filepath.Clean(c.To)
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) && !c.Replace {
		return errors.Join(fmt.Errorf("%s exists: --replace gives it another name", to), err)
	}
	b := &backupCmd{To: to, NoVerify: c.NoVerify}
	var info *jetstream.ObjectInfo
	if err := b.make(co, func() (err error) { info, err = download(co.ctx, conn, c.StreamPrefix, b.To); return err }); err != nil {
		return err
	}
	if err := setAside(co, to); err != nil {
		return err
	}
	if err := b.name(to); err != nil {
		return err
	}
	_, err = fmt.Fprintf(co.out, "%s is the backup of %s\n", to, info.ModTime.Local().Format(time.DateTime))
	return err
}

// download unpacks the backup that a bus holds.
func download(ctx context.Context, conn *nats.Conn, prefix, dir string) (*jetstream.ObjectInfo, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	store, err := js.ObjectStore(ctx, prefix+bucket)
	var object jetstream.ObjectResult
	if err == nil {
		object, err = store.Get(ctx, objectName)
	}
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("the bus holds no backup: make one with `jianguo backup --upload`: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("object store %s: %w", prefix+bucket, err)
	}
	info, err := object.Info()
	return info, errors.Join(err, unpackDir(object, dir), object.Close())
}

// setAside gives a directory that no process holds another name.
func setAside(co *streams, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := datadir.AcquireUnchecked(dir, datadir.Holder{Command: "restore"})
	if err != nil {
		return err
	}
	kept := dir + "." + time.Now().UTC().Format("20060102T150405Z")
	fmt.Fprintf(co.err, "what was in %s is kept in %s\n", dir, kept)
	return errors.Join(os.Rename(dir, kept), lock.Close())
}
