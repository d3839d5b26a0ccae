package bus

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// serverLog is a logger of the embedded server. It keeps why that gave up at its start,
// and hears that a stream cannot write any more; what else it says its clients are
// told as well.
type serverLog struct {
	why    atomic.Pointer[string] // it gave up
	broken atomic.Pointer[string] // a write failed, since when its stream takes nothing
}

func (l *serverLog) Fatalf(format string, v ...any) {
	s := fmt.Sprintf(format, v...)
	l.why.CompareAndSwap(nil, &s)
}

// writeFailed is what nats-server logs when it stops a stream for a write that failed.
// Nothing else tells such a stream from one that has no room by its own bounds.
const writeFailed = "Critical write error"

func (l *serverLog) Errorf(format string, v ...any) {
	if s := fmt.Sprintf(format, v...); strings.Contains(s, writeFailed) {
		l.broken.CompareAndSwap(nil, &s)
	}
}

// gaveUp is why the server gave up; empty: it has not.
func (l *serverLog) gaveUp() string {
	if s := l.why.Load(); s != nil {
		return *s
	}
	return ""
}

func (*serverLog) Noticef(string, ...any) {}
func (*serverLog) Warnf(string, ...any)   {}
func (*serverLog) Debugf(string, ...any)  {}
func (*serverLog) Tracef(string, ...any)  {}
