package main

import (
	"os"
	"runtime"
	"sync"
)

// processors returns the number of processors that may run Go, and raises GOMAXPROCS by
// one. Segmentation has a goroutine for each processor. Without one more place, all
// places are taken while articles wait, and the runtime polls the network only every
// 10 ms: acknowledgements of the bus and requests to POST /filter wait for that. With
// one more, the operating system shares the processors, and prefers the thread that has
// waited longest.
//
// With one processor GOMAXPROCS stays: the two places would take turns, and a request
// to POST /filter would cost a fifth more. A GOMAXPROCS of the environment stays too.
// The limit of a container counts as it is at the start.
var processors = sync.OnceValue(func() int {
	n := runtime.GOMAXPROCS(0)
	if n > 1 && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(n + 1)
	}
	return n
})
