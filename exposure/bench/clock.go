package bench

import (
	"runtime"
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
