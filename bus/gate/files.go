package gate

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jianguo/internal/disk"
	"jianguo/internal/must"
)

// What nats-server 2.15 keeps of a stream, in its directory:
//
//	meta.inf, meta.sum   its configuration
//	msgs/N.blk           messages, appended to the file of the highest N; when it is
//	                     full, N+1 is begun
//	msgs/index.db        a summary, which is rebuilt when it does not match the others
//
// Without SyncAlways it has written a message when it answers (it "flushes in place"),
// and syncs every two minutes. It may rewrite a block that has lost many messages, when
// more are removed or at one of those syncs; the new file takes the name before it is
// synced. A purge up to a sequence that Gate.FileStart returns causes no rewrite. A purge of
// everything creates another directory msgs.
//
// So the gate syncs the blocks that have changed, and the directories that lead to them.
const (
	blockDir    = "msgs"
	blockSuffix = ".blk"
	// unsyncedMark exists after a failed sync. It need not be durable: a power cut that
	// removes it also removes the pages that the system wrongly calls clean.
	unsyncedMark = "unsynced"
)

// files are those of one stream, as they were when last synced.
type files struct {
	dir     string
	in      os.FileInfo            // blockDir; nil: nothing has been synced
	settled bool                   // the next change will give in another time
	synced  map[string]os.FileInfo // blocks by name
	last    *os.File               // the block with the highest number, which is appended to
}

var errLayout = errors.New("the files of the stream are not where this version of nats-server keeps them")

// openFiles makes all files of a stream durable.
func openFiles(dir string) (*files, error) {
	f := &files{dir: dir}
	for _, name := range []string{"meta.inf", "meta.sum"} {
		if err := disk.Sync(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("%w: %w", errLayout, err)
		}
	}
	if err := f.sync(); err != nil {
		f.close()
		return nil, fmt.Errorf("%w, or cannot be synced: %w", errLayout, err)
	}
	// Directories above may have been created for this stream.
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		if err := disk.Sync(up); err != nil || up == filepath.Dir(up) {
			return f, nil // the root, or a directory that this process may not read
		}
	}
}

func (f *files) close() {
	if f.last != nil {
		f.last.Close()
	}
}

// sync makes durable all that was written before the call.
func (f *files) sync() error {
	for range 100 { // a purge may remove files meanwhile
		in, err := os.Stat(filepath.Join(f.dir, blockDir))
		if err == nil && f.settled && os.SameFile(in, f.in) && in.ModTime().Equal(f.in.ModTime()) {
			return f.last.Sync()
		}
		if err == nil {
			err = must.Catch(func() { f.syncChanged(in) })
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f.settled = false
	}
	return fmt.Errorf("%s: no block remains: %w", f.dir, fs.ErrNotExist)
}

// settledAfter is the age at which the time of a directory is sure to differ after the
// next change: clocks of file systems are coarse.
const settledAfter = 100 * time.Millisecond

// syncChanged syncs the blocks that have changed, and the directories. It panics on errors (must).
func (f *files) syncChanged(in os.FileInfo) {
	msgs, began := filepath.Join(f.dir, blockDir), time.Now()
	f.settled = false // until all have been synced
	names := must.Get(blocks(msgs))
	another := f.in == nil || !os.SameFile(in, f.in)
	known := make(map[string]os.FileInfo, len(names))
	for i, name := range names {
		path := filepath.Join(msgs, name)
		now := must.Get(os.Stat(path))
		known[name] = now
		if i == len(names)-1 {
			f.syncLast(path, now)
		} else if before, ok := f.synced[name]; !ok || another || !unchanged(now, before) {
			must.Do(disk.Sync(path))
		}
	}
	must.Do(disk.Sync(msgs))
	if another {
		must.Do(disk.Sync(f.dir))
	}
	f.synced, f.in, f.settled = known, in, began.Sub(in.ModTime()) > settledAfter
}

// unchanged reports whether a block has not been written to or replaced.
func unchanged(now, before os.FileInfo) bool {
	return os.SameFile(now, before) && now.Size() == before.Size() && now.ModTime().Equal(before.ModTime())
}

// syncLast syncs the block that is appended to, and keeps it open.
func (f *files) syncLast(path string, now os.FileInfo) {
	if f.last != nil {
		if open, err := f.last.Stat(); err == nil && os.SameFile(open, now) {
			must.Do(f.last.Sync())
			return
		}
		f.last.Close()
		f.last = nil
	}
	f.last = must.Get(os.Open(path))
	must.Do(f.last.Sync())
}

// blocks are the names of the blocks of a directory, in the order of their messages.
func blocks(msgs string) ([]string, error) {
	entries, err := os.ReadDir(msgs)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), blockSuffix) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no blocks: %w", msgs, fs.ErrNotExist)
	}
	slices.SortFunc(names, func(a, b string) int { // by number
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return names, nil
}

func (f *files) markUnsynced() error {
	return os.WriteFile(filepath.Join(f.dir, unsyncedMark), nil, 0o600)
}

// Repair is called before a bus with a stream in dir is started. After a failed sync it
// rewrites all blocks: another sync would not write pages that the system could not write
// and has marked clean.
func Repair(dir string) error {
	mark := filepath.Join(dir, unsyncedMark)
	if _, err := os.Stat(mark); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	msgs := filepath.Join(dir, blockDir)
	names, err := blocks(msgs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		path := filepath.Join(msgs, name)
		data, err := os.ReadFile(path)
		if err == nil {
			err = disk.Replace(path, data, 0o600) // a synced copy
		}
		if err != nil {
			return fmt.Errorf("rewrite of a file that could not be synced: %w", err)
		}
	}
	if err := disk.Sync(msgs); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Remove(mark)
}

// A block is a row of records. Each begins with its length (4 bytes, little endian),
// whose highest bit says that the message has headers, and its sequence (8 bytes), whose
// two highest bits say that it is no message: it was erased, or it records an erasure.
const (
	recordHead  = 12
	hasHeaders  = 1 << 31
	noMessage   = 3 << 62
	maxLeading  = 1 << 16 // records that are read
	leastRecord = 22 + 8
)

// FileStart is the sequence of the first message in the file that holds seq or would hold
// it; 0: unknown. Removing the messages before it removes files and rewrites none.
func (g *Gate) FileStart(seq uint64) (first uint64) {
	msgs := filepath.Join(g.cfg.Dir, blockDir)
	names, err := blocks(msgs)
	if err != nil {
		return 0
	}
	for _, name := range names {
		begins := firstMessage(filepath.Join(msgs, name))
		if begins > seq {
			break
		}
		first = max(first, begins)
	}
	return first
}

// firstMessage is the sequence of the first message of a block, 0 for none.
func firstMessage(path string) uint64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	var head [recordHead]byte
	for at := int64(0); ; {
		if _, err := f.ReadAt(head[:], at); err != nil {
			return 0
		}
		size, seq := binary.LittleEndian.Uint32(head[:])&^hasHeaders, binary.LittleEndian.Uint64(head[4:])
		switch {
		case size < leastRecord:
			return 0
		case seq != 0 && seq&noMessage == 0:
			return seq
		}
		if at += int64(size); at > maxLeading*leastRecord {
			return 0
		}
	}
}
