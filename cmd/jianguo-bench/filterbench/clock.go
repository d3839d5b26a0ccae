package filterbench

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// preciseThread gives the calling goroutine a thread that wakes when it should; the
// kernel allows itself 50 µs otherwise. The function it returns undoes that.
func preciseThread() (undo func()) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // where refused: 50 µs late
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // back to the default
		runtime.UnlockOSThread()
	}
}

// sleepUntil blocks the thread.
func sleepUntil(t time.Time) {
	for d := time.Until(t); d > 0; d = time.Until(t) {
		ts := unix.NsecToTimespec(d.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil) // interrupted: the rest is waited for
	}
}

// stolen is how long, in hundredths of a second, processors of this machine had work and
// its host gave them to others: proc(5)'s steal. It is 0 where the host does not tell.
func stolen() int {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return steal(stat)
}

func steal(stat []byte) int {
	all, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(all) // cpu user nice system idle iowait irq softirq steal
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return 0
	}
	n, _ := strconv.Atoi(string(fields[8]))
	return n
}
