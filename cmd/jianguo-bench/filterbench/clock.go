package filterbench

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// preciseThread locks the calling goroutine to a thread whose timers have no slack; the
// kernel's default is 50 µs. undo restores it.
func preciseThread() (undo func()) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // if refused: up to 50 µs late
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // back to the default
		runtime.UnlockOSThread()
	}
}

// sleepUntil blocks the thread.
func sleepUntil(t time.Time) {
	for d := time.Until(t); d > 0; d = time.Until(t) {
		ts := unix.NsecToTimespec(d.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil) // if interrupted, the loop waits for the rest
	}
}

// stolen is the time, in hundredths of a second, in which the host ran other machines
// although this one had work: `steal` in proc(5). It is 0 where the host does not report
// it.
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
