package main

import (
	"os"
	"slices"
	"strings"
	"syscall"
)

// calmMonitor begins the program of a server anew with a setting of Go's runtime that
// is read before main and nowhere else. With it the runtime's monitor never sleeps
// until it is woken. It does so otherwise whenever nothing is to be done, which between
// two requests is always; the next system call wakes it, it then looks around every 20
// microseconds for a while, and each look takes the processor from the request: four
// times a request, and a third of its time on a machine of one processor. So it looks
// around a hundred times a second when there is nothing to do, which costs nothing. The
// price is that a system call which blocks keeps the place of its thread for up to
// 10 ms, where it would have lost it sooner; with several processors others go on.
//
// The setting's own purpose is a line about the scheduler on standard error at an
// interval, here of 24 days, the longest there is. A process id, open files and the
// arguments stay as they are. Where it cannot be done, the server runs without.
func calmMonitor(args []string) {
	const name = "GODEBUG"
	was := os.Getenv(name)
	if len(args) < 2 || !slices.Contains(args[1:], "serve") || strings.Contains(was, "schedtrace=") {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	set := "schedtrace=2147483647"
	if was != "" {
		set = was + "," + set
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, name+"=") })
	_ = syscall.Exec(self, args, append(env, name+"="+set)) // returns only if it failed
}
