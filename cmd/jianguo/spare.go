package main

import (
	"os"
	"runtime"
	"sync"
)

// processors is how many of this machine's may run Go at a time, and makes room for
// one more goroutine than that. Goroutines that segment are as many as processors. With
// no more places than those, all are taken whenever articles wait, and the runtime then
// looks at the network every 10 ms and not before: what is due to the bus, and a request
// to POST /filter, would wait for that. With one more, the operating system shares the
// processors out, and gives them first to who has waited.
//
// One processor is left as it is: there the places would take turns, and each request
// to POST /filter costs a fifth more. So is a GOMAXPROCS somebody chose. A limit of the
// container counts as it is at the start.
var processors = sync.OnceValue(func() int {
	n := runtime.GOMAXPROCS(0)
	if n > 1 && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(n + 1)
	}
	return n
})
