//go:build !race

package main

import (
	"crypto/sha256"
	le "encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/minio/highwayhash"

	"jianguo/exposure/eventlog"
	"jianguo/internal/testbed"
)

// TestAgedLog: reports that were answered and not yet flushed are applied by a start after
// more than the day in which the log keeps what is flushed.
func TestAgedLog(t *testing.T) {
	t.Parallel()
	s := serveReady(t, plainBinary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0", "--exposure-flush", "1h")
	for n := range 30 {
		s.ask("/exposures", fmt.Sprintf(`{"user":"u","kind":"seen","items":["n%d"]}`, n), nil)
	}
	s.kill()
	backdate(t, filepath.Join(s.data, "bus"), eventlog.StreamName, 60*time.Hour)
	s.start()
	s.ready()
	var got struct{ Items []string }
	s.ask("/filter", `{"user":"u","items":["n0","n29","new"]}`, &got)
	if len(got.Items) != 1 || got.Items[0] != "new" {
		t.Errorf("the filter let through %v", got.Items)
	}
	s.stop() // with a flush
	s.start()
	js := s.jetstream()
	stream, err := js.Stream(t.Context(), eventlog.StreamName)
	testbed.OK(t, err)
	if left := stream.CachedInfo().State.Msgs; left != 0 {
		t.Errorf("%d old reports that are in the file are still in the log", left)
	}
	s.stop()
}

// backdate makes the messages of a stream of a bus that does not run older.
func backdate(t *testing.T, dir, stream string, by time.Duration) {
	t.Helper()
	messages := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		msgs := filepath.Dir(path)
		if err != nil || filepath.Base(msgs) != "msgs" || filepath.Base(filepath.Dir(msgs)) != stream {
			return err
		}
		number, block := strings.CutSuffix(filepath.Base(path), ".blk")
		if !block { // an index of the blocks, which the server makes again
			return os.Remove(path)
		}
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// A record is its length, sequence, time, length of the subject (22 bytes), the
		// subject, the message, and a checksum of all but the lengths.
		key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", stream, n))
		for at := 0; at < len(b); messages++ {
			size := int(le.LittleEndian.Uint32(b[at:]) &^ (1 << 31))
			if size < 30 || at+size > len(b) {
				return errors.New("not a record")
			}
			record := b[at : at+size]
			le.LittleEndian.PutUint64(record[12:], le.LittleEndian.Uint64(record[12:])-uint64(by))
			hash, err := highwayhash.New64(key[:])
			if err != nil {
				return err
			}
			hash.Write(record[4:20])
			hash.Write(record[22 : size-8])
			copy(record[size-8:], hash.Sum(nil))
			at += size
		}
		return os.WriteFile(path, b, 0o600)
	})
	if err != nil || messages == 0 {
		t.Fatalf("%d messages of %s: %v", messages, stream, err)
	}
}
