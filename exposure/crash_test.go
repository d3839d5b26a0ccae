//go:build linux && amd64

package exposure

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childEnv makes the test binary a reporter: a process with the embedded bus and a
// store in a directory, which reports one item after the other and prints the number
// of each when its report has been answered.
const (
	childEnv   = "JIANGUO_EXPOSURE_REPORTER"
	childFrom  = "JIANGUO_EXPOSURE_FROM"
	childDelay = 300 * time.Microsecond
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := reporter(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// openDir is a bus and a store in a directory; relaxed as its name says.
func openDir(t testing.TB, dir string) *Store {
	synced := !strings.Contains(dir, "relaxed")
	_, js := startNATS(t, dir+"/nats", synced)
	ctx := context.Background()
	log, err := OpenNATSLog(ctx, js, StreamConfig{}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Path: dir + "/exposure.db", Log: log, FlushAge: 40 * time.Millisecond, Logger: quiet,
		Policies: map[string]Policy{"": {Slots: 60, Capacity: 64, Tail: 16}}}
	if !synced {
		cfg.Durability = Relaxed
	}
	s, err := Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

func reporter(dir string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("reporter: %v", v)
		}
	}()
	s := openDir(&childT{}, dir)
	var from int
	if _, err := fmt.Sscan(os.Getenv(childFrom), &from); err != nil {
		return err
	}
	for i := from; ; i++ {
		err := s.Expose(context.Background(), Event{Kind: Seen, User: fmt.Sprint("u", i%7), Items: []string{fmt.Sprint("item", i)}})
		if err != nil {
			return err
		}
		fmt.Println(i)
		time.Sleep(childDelay)
	}
}

// childT is what is left of a testing.TB where there is no test.
type childT struct{ testing.TB }

func (*childT) Helper()           {}
func (*childT) Cleanup(func())    {}
func (*childT) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// TestPowerCut runs a reporter whose disk forgets whatever was not synced, cuts the
// power, looks at what such a disk would have kept, and goes on from there. Synced,
// every report that was answered is filtered afterwards. Relaxed promises less, but the
// state must be whole, and new reports must count though the log lost its end.
func TestPowerCut(t *testing.T) {
	for _, mode := range []string{"synced", "relaxed"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), mode)
			acked := 0
			for cut := range 4 {
				disk := &shadow{live: dir, kept: fmt.Sprintf("%s-kept-%d", dir, cut), synced: map[string]bool{}}
				if err := os.CopyFS(disk.kept, os.DirFS(disk.live)); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				last, syncs := runUntilCut(t, disk, acked, 20+rand.IntN(150))
				dir = disk.kept
				s := openDir(t, dir)
				r, err := s.Filter(context.Background(), Request{User: "u0", Items: itemsOf(0, last)})
				if err != nil || r.Degraded != "" {
					t.Fatal(err, r.Degraded)
				}
				lost := len(r.Items)
				for u := 1; u < 7; u++ {
					r, err := s.Filter(context.Background(), Request{User: fmt.Sprint("u", u), Items: itemsOf(u, last)})
					if err != nil {
						t.Fatal(err)
					}
					lost += len(r.Items)
				}
				t.Logf("cut %d: %d reports answered in all, %d syncs, %d lost", cut, last, syncs, lost)
				if mode == "synced" && lost > 0 {
					t.Fatalf("%d answered reports were lost", lost)
				}
				for i := range 20 {
					id := fmt.Sprint("after", cut, i)
					if err := s.Expose(context.Background(), Event{Kind: Seen, User: "v", Items: []string{id}}); err != nil {
						t.Fatal(err)
					}
					if r, err := s.Filter(context.Background(), Request{User: "v", Items: []string{id}}); err != nil || len(r.Items) > 0 {
						t.Fatalf("a report after the cut does not count: %v, %v", r, err)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if _, err := Verify(context.Background(), dir+"/exposure.db"); err != nil {
					t.Fatal(err)
				}
				acked = last
				// The bus is still open; the next reporter gets a copy of its files as
				// they are after a clean end.
				next := fmt.Sprintf("%s-next-%d", filepath.Join(t.TempDir(), mode), cut)
				if err := os.CopyFS(next, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				dir = next
			}
		})
	}
}

func itemsOf(user, last int) []string {
	var items []string
	for i := user; i < last; i += 7 {
		items = append(items, fmt.Sprint("item", i))
	}
	return items
}

// runUntilCut starts a reporter at number from, kills it some answers later, and
// returns the number after the last one answered.
func runUntilCut(t *testing.T, disk *shadow, from, answers int) (last, syncs int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+disk.live, fmt.Sprint(childFrom, "=", from))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stop, err := disk.startWatched(cmd)
	if err != nil {
		t.Fatalf("start with a seccomp listener: %v", err)
	}
	lines := bufio.NewScanner(out)
	last = from
	for n := 0; n < answers && lines.Scan(); n++ {
		if _, err := fmt.Sscan(lines.Text(), &last); err != nil {
			t.Fatal(err)
		}
		last++
	}
	if last == from {
		t.Error("the reporter reported nothing")
	}
	cmd.Process.Kill()
	cmd.Wait()
	stop()
	disk.mu.Lock()
	defer disk.mu.Unlock()
	for path := range disk.synced { // opened to sync every write
		disk.keep(path)
	}
	return last, disk.syncs
}

// shadow is what a disk keeps of a directory when the power goes: each file as it was
// when last synced. Names are taken to be durable at once, contents never are.
type shadow struct {
	live, kept string
	mu         sync.Mutex
	synced     map[string]bool // mu; opened with O_SYNC
	syncs      int             // mu
}

// inside is a path's place in the kept directory.
func (d *shadow) inside(path string) (string, bool) {
	rel, err := filepath.Rel(d.live, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return "", false
	}
	return filepath.Join(d.kept, rel), true
}

func (d *shadow) keep(path string) {
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

// system calls the shadow needs to know of.
var watchedCalls = []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_OPENAT, unix.SYS_RENAME, unix.SYS_RENAMEAT,
	unix.SYS_RENAMEAT2, unix.SYS_UNLINK, unix.SYS_UNLINKAT}

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

// watch is told of each watched call before it happens, and lets it happen.
func (d *shadow) watch(listener int, quit <-chan struct{}) {
	for {
		fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		unix.Poll(fds, 20)
		if fds[0].Revents&unix.POLLIN == 0 {
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
		d.mu.Lock()
		d.before(&n)
		d.mu.Unlock()
		r := response{id: n.id, flags: 1} // SECCOMP_USER_NOTIF_FLAG_CONTINUE
		unix.Syscall(unix.SYS_IOCTL, uintptr(listener), ioctlSend, uintptr(unsafe.Pointer(&r)))
	}
}

func (d *shadow) before(n *notification) {
	switch n.nr {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		if path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.pid, n.args[0])); err == nil {
			d.keep(path)
		}
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

// rename moves what was kept; contents that were never synced are gone, and only the
// new name remains.
func (d *shadow) rename(from, to string) {
	f, ok1 := d.inside(from)
	k, ok2 := d.inside(to)
	if !ok1 || !ok2 {
		return
	}
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

func (d *shadow) remove(path string) {
	if k, ok := d.inside(path); ok {
		delete(d.synced, path)
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

// startWatched starts a command under a seccomp filter that hands the watched calls to
// a listener, and serves it. A filter belongs to a thread and is inherited, so it is put
// on a thread that forks and is then thrown away; what that thread itself opens meanwhile
// is answered like the rest. stop is called when the command has ended.
func (d *shadow) startWatched(cmd *exec.Cmd) (stop func(), err error) {
	prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}}
	for i, nr := range watchedCalls {
		prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(watchedCalls) - i), K: nr})
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
