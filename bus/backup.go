package bus

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/disk"
	"jianguo/internal/streams"
	"jianguo/internal/wait"
	"jianguo/internal/wrap"
)

// The last backup that was uploaded lies in an object store of the bus, as a tar file in zstd.
const (
	bucket     = "BACKUP"
	objectName = "data.tar.zst"
	bucketIs   = "the last backup, for jianguo restore"
)

// manifestName is a file that is written into a copy when the copy is complete (package datadir).
const manifestName = "MANIFEST"

// Upload puts a directory into the object store of a bus, in the place of what is there.
func Upload(ctx context.Context, conn *nats.Conn, prefix string, replicas int, dir string) (size uint64, err error) {
	js := JetStream(conn)
	if store, err := js.ObjectStore(ctx, prefix+bucket); err == nil {
		if is, err := store.Status(ctx); err == nil && is.Description() != bucketIs {
			return 0, fmt.Errorf("object store %s belongs to another application: choose another name with "+
				"--stream-prefix, here and for the service", prefix+bucket)
		}
	}
	store, err := js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: prefix + bucket,
		Replicas: replicas, Description: bucketIs})
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

// unpackStep is after how many bytes unpack looks at the free space, maxWindow is the memory of its decoder, and
// maxParts is far beyond what the paths of a data directory have: most are blocks of DEAD, of 8 MB each.
const (
	unpackStep = 16 << 20
	maxWindow  = 16 << 20
	maxParts   = 10_000
)

// unpack writes the files of a tar file into a directory that is there, as long as a reserve stays free on its disk: a
// client of the bus may have put anything there.
func unpack(r io.Reader, dir string, reserve uint64) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	defer z.Close()
	root, err := os.OpenRoot(dir) // no name leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	parts := 0
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			if _, err := z.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // there, the sum is compared
				return cmp.Or(err, errors.New("something follows its end"))
			}
			return nil
		}
		if err != nil {
			return err
		}
		if parts += 1 + strings.Count(h.Name, "/"); parts > maxParts {
			return fmt.Errorf("its paths have more than %d parts", maxParts)
		}
		switch {
		case h.Name == manifestName:
			continue
		case h.Typeflag == tar.TypeDir:
			if err := root.MkdirAll(h.Name, 0o700); err != nil {
				return err
			}
			continue
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%q is neither a file nor a directory", h.Name)
		}
		f, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		for err == nil {
			if err = (disk.Disk{Dir: dir, Reserve: reserve}).HasSpace(); err == nil {
				_, err = io.CopyN(f, t, unpackStep)
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// Download unpacks the backup that a bus holds, as long as a reserve of bytes stays free.
func Download(ctx context.Context, conn *nats.Conn, prefix, dir string, reserve uint64) (*jetstream.ObjectInfo, error) {
	store, err := JetStream(conn).ObjectStore(ctx, prefix+bucket)
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
	err = errors.Join(err, unpack(object, dir, reserve), object.Close())
	return info, wrap.Err(err, "the backup in object store %s", prefix+bucket)
}

// AwaitApplied waits until the service on a bus has applied every item that the bus holds
// now. prefix is that of the names of its streams, service the name of the process that is meant.
func AwaitApplied(ctx context.Context, nc *nats.Conn, prefix, service string) error {
	stream, err := JetStream(nc).Stream(ctx, prefix+StreamItems)
	if err != nil {
		return fmt.Errorf("stream %s: %w", StreamItems, err)
	}
	for last := stream.CachedInfo().State.LastSeq; ; {
		answer, err := nc.RequestWithContext(ctx, SubjectApplied, []byte(service))
		if err != nil {
			return fmt.Errorf("no service answers how many items it has applied: %w", err)
		}
		applied, err := strconv.ParseUint(string(answer.Data), 10, 64)
		if err != nil {
			return fmt.Errorf("how many items are applied: %w", err)
		}
		if applied >= last {
			return nil
		}
		if err := wait.For(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("items %d to %d still wait for their verdicts: %w", applied+1, last, err)
		}
	}
}

// CopyDead copies the dead letters of a bus, whose streams have a prefix, into the directory of an embedded bus that
// is not running.
func CopyDead(ctx context.Context, from *nats.Conn, prefix, dir string) error {
	dead, err := JetStream(from).Stream(ctx, prefix+StreamDead)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	return Offline(dir, func(js jetstream.JetStream) error {
		if _, err := (streams.Plan{}).Ensure(ctx, js, jetstream.StreamConfig{Name: StreamDead,
			Subjects: dead.CachedInfo().Config.Subjects, AllowMsgTTL: true}); err != nil {
			return fmt.Errorf("dead letters: %w", err)
		}
		state := dead.CachedInfo().State
		for number := max(state.FirstSeq, 1); number <= state.LastSeq; number++ {
			m, err := dead.GetMsg(ctx, number)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			if err == nil {
				_, err = js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
			}
			if err != nil {
				return fmt.Errorf("dead letter %d: %w", number, err)
			}
		}
		return nil
	})
}

// Offline calls f with the streams in the directory of an embedded bus that is not running.
func Offline(dir string, f func(jetstream.JetStream) error) error {
	b, err := Start(Config{Dir: dir})
	if err != nil {
		return err
	}
	defer b.Close()
	nc, err := b.Connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	return f(JetStream(nc))
}
