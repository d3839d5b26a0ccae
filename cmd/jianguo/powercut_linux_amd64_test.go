package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// diskOp is what a system call does to a file.
type diskOp int

const (
	syncOp   diskOp = iota
	readOp          // pread
	writeOp         // pwrite, or a change of the size
	openOp          // for writing
	createOp        // open for writing, and create if missing
	changeOp        // rename or remove
)

// diskFault is what becomes of a call. The zero value lets it happen.
type diskFault struct {
	Err   syscall.Errno // 0: it succeeds; of a sync that fails nothing is kept this time
	Delay time.Duration // before it happens
	// Lost: from this sync on nothing of the file is kept, though syncs succeed. After an
	// error that is what disks do: the system considers pages written that the disk
	// refused once, so they are lost unless the program writes them again. Without an
	// error it is a sync that was left out.
	Lost bool
}

// losingDisk is a directory, and what a disk keeps of it when the power goes: each file as it was when last synced, and
// nothing written since. It runs a command under a seccomp filter that reports every fsync, rename and removal before
// it happens, so that tests run the real binary, with all of its libraries.
//
// Names are taken to be durable at once, contents never are. What is written to a file that was opened with O_SYNC is
// durable as it is written.
type losingDisk struct {
	// Fault, if not nil, decides what becomes of each call about a file of the disk.
	Fault func(diskOp, string) diskFault
	// IO, if set when a command is started, makes Fault decide about readOp and writeOp, too.
	// Each of these calls takes longer then.
	IO         bool
	live, kept string
	mu         sync.Mutex
	synced     map[string]bool // mu; opened with O_SYNC
	lost       map[string]bool // mu; nothing of them is kept any more
	syncs      int             // mu
}

// newDisk returns a disk with the directory live, whose present contents count as
// durable. What a power cut would leave is written to kept, which New creates.
func newDisk(live, kept string) (*losingDisk, error) {
	if err := os.CopyFS(kept, os.DirFS(live)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return &losingDisk{live: live, kept: kept, synced: map[string]bool{}, lost: map[string]bool{}}, nil
}

// Cut completes the kept directory after the command was killed and has ended, and
// returns the number of syncs.
func (d *losingDisk) Cut() (syncs int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path := range d.synced {
		d.keep(path)
	}
	return d.syncs
}

// inside is a path's place in the kept directory.
func (d *losingDisk) inside(path string) (string, bool) {
	rel, err := filepath.Rel(d.live, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return "", false
	}
	return filepath.Join(d.kept, rel), true
}

func (d *losingDisk) keep(path string) {
	to, ok := d.inside(path)
	if !ok {
		return
	}
	from, err := os.Open(path)
	if err != nil {
		return
	}
	defer from.Close()
	if fi, err := from.Stat(); err != nil || !fi.Mode().IsRegular() {
		return
	}
	os.MkdirAll(filepath.Dir(to), 0o755)
	f, err := os.Create(to)
	if err != nil {
		return
	}
	defer f.Close()
	io.Copy(f, from)
	d.syncs++
}

// watchedCalls are the system calls that the filter reports.
func (d *losingDisk) watchedCalls() []uint32 {
	calls := []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_OPENAT, unix.SYS_RENAME, unix.SYS_RENAMEAT,
		unix.SYS_RENAMEAT2, unix.SYS_UNLINK, unix.SYS_UNLINKAT}
	if d.IO {
		calls = append(calls, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE)
	}
	return calls
}

type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type response struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

const (
	ioctlReceive = 0xc0502100
	ioctlSend    = 0xc0182101
)

// watch receives each watched call before it happens, and lets it happen or fail.
func (d *losingDisk) watch(listener int, quit <-chan struct{}) {
	for {
		fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		unix.Poll(fds, 20)
		if fds[0].Revents&unix.POLLIN == 0 {
			if fds[0].Revents&unix.POLLHUP != 0 { // no process is left, and Poll would return at once
				<-quit
			}
			select {
			case <-quit:
				return
			default:
				continue
			}
		}
		var n notification
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), ioctlReceive, uintptr(unsafe.Pointer(&n))); e != 0 {
			continue
		}
		if f := d.fault(&n); f.Delay > 0 {
			go func() {
				time.Sleep(f.Delay)
				d.answer(listener, &n, f)
			}()
		} else {
			d.answer(listener, &n, f)
		}
	}
}

// answer lets a call happen or fail.
func (d *losingDisk) answer(listener int, n *notification, f diskFault) {
	r := response{id: n.id}
	if f.Err != 0 {
		r.err = -int32(f.Err)
	} else {
		r.flags = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	d.mu.Lock()
	d.before(n, f)
	d.mu.Unlock()
	unix.Syscall(unix.SYS_IOCTL, uintptr(listener), ioctlSend, uintptr(unsafe.Pointer(&r)))
}

// fault asks Fault about a call.
func (d *losingDisk) fault(n *notification) diskFault {
	if d.Fault == nil {
		return diskFault{}
	}
	var op diskOp
	var path string
	switch n.nr {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		op, path = syncOp, d.file(n)
	case unix.SYS_PREAD64:
		op, path = readOp, d.file(n)
	case unix.SYS_PWRITE64, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE:
		op, path = writeOp, d.file(n)
	case unix.SYS_OPENAT:
		if n.args[2]&(unix.O_WRONLY|unix.O_RDWR|unix.O_CREAT) == 0 {
			return diskFault{}
		}
		if op = openOp; n.args[2]&unix.O_CREAT != 0 {
			op = createOp
		}
		path = readString(n.pid, n.args[1])
	case unix.SYS_RENAME, unix.SYS_UNLINK:
		op, path = changeOp, readString(n.pid, n.args[0])
	default:
		op, path = changeOp, readString(n.pid, n.args[1])
	}
	if _, ok := d.inside(path); !ok || path == "" {
		return diskFault{}
	}
	return d.Fault(op, path)
}

// before applies a call to what is kept, before it happens.
func (d *losingDisk) before(n *notification, f diskFault) {
	switch n.nr {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		path := d.file(n)
		if f.Lost {
			d.lost[path] = true
		}
		if f.Err == 0 && !d.lost[path] {
			d.keep(path)
		}
		return
	}
	if f.Err != 0 {
		return
	}
	switch n.nr {
	case unix.SYS_OPENAT:
		if n.args[2]&(unix.O_SYNC|unix.O_DSYNC) != 0 {
			d.synced[readString(n.pid, n.args[1])] = true
		}
	case unix.SYS_RENAME:
		d.rename(readString(n.pid, n.args[0]), readString(n.pid, n.args[1]))
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		d.rename(readString(n.pid, n.args[1]), readString(n.pid, n.args[3]))
	case unix.SYS_UNLINK:
		d.remove(readString(n.pid, n.args[0]))
	case unix.SYS_UNLINKAT:
		d.remove(readString(n.pid, n.args[1]))
	}
}

// file is the path of the file that a call is about, its first argument.
func (d *losingDisk) file(n *notification) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.pid, n.args[0]))
	if err != nil {
		return ""
	}
	return path
}

// rename moves what was kept; contents that were never synced are gone, and only the
// new name remains.
func (d *losingDisk) rename(from, to string) {
	f, ok1 := d.inside(from)
	k, ok2 := d.inside(to)
	if !ok1 || !ok2 {
		return
	}
	delete(d.lost, to)
	if d.synced[from] {
		d.keep(from)
		delete(d.synced, from)
	}
	if os.Rename(f, k) != nil {
		if fi, err := os.Stat(from); err == nil && fi.Mode().IsRegular() {
			os.MkdirAll(filepath.Dir(k), 0o755)
			os.WriteFile(k, nil, 0o644)
		}
	}
}

func (d *losingDisk) remove(path string) {
	if k, ok := d.inside(path); ok {
		delete(d.synced, path)
		delete(d.lost, path)
		os.RemoveAll(k)
	}
}

// readString reads a path from the memory of the stopped thread.
func readString(pid uint32, addr uint64) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return ""
	}
	defer f.Close()
	buf := make([]byte, 1024)
	n, _ := f.ReadAt(buf, int64(addr))
	s, _, _ := strings.Cut(string(buf[:n]), "\x00")
	return s
}

// Start starts a command under a seccomp filter that hands the watched calls to
// a listener, and serves it. A filter belongs to a thread and is inherited, so it is put
// on a thread that forks and is then thrown away; what that thread itself opens meanwhile
// is answered like the rest. stop is called when the command has ended.
func (d *losingDisk) Start(cmd *exec.Cmd) (stop func(), err error) {
	prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}}
	calls := d.watchedCalls()
	for i, nr := range calls {
		prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(calls) - i), K: nr})
	}
	prog = append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0x7fff0000}, // allow
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0x7fc00000}) // tell the listener
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	quit, over, started := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			started <- err
			return
		}
		const setModeFilter, newListener = 1, 8
		fd, _, e := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, newListener, uintptr(unsafe.Pointer(&fprog)))
		if e != 0 {
			started <- e
			return
		}
		unix.CloseOnExec(int(fd))
		go func() {
			d.watch(int(fd), quit)
			unix.Close(int(fd))
			close(over)
		}()
		started <- cmd.Start()
	}()
	return func() { close(quit); <-over }, <-started
}
