package testbed

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// starts are commands to start, on a thread that never ends: the kernel kills a child with Pdeathsig at the end of the
// thread that started it, and Go ends a thread with a goroutine that is locked to it.
var starts = sync.OnceValue(func() chan<- func() {
	queue := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range queue {
			start()
		}
	}()
	return queue
})

// Start starts a command that is killed when this process ends.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	starts() <- func() { started <- cmd.Start() }
	return <-started
}
