package bus

import (
	"fmt"
	"sync/atomic"
)

// startLog is the logger of the embedded server. It keeps the reason why the server did
// not start. All other errors reach the clients.
type startLog struct{ why atomic.Pointer[string] }

func (l *startLog) Fatalf(format string, v ...any) {
	s := fmt.Sprintf(format, v...)
	l.why.CompareAndSwap(nil, &s)
}

// fatal is why the server gave up; empty: it has not.
func (l *startLog) fatal() string {
	if s := l.why.Load(); s != nil {
		return *s
	}
	return ""
}

func (*startLog) Noticef(string, ...any) {}
func (*startLog) Warnf(string, ...any)   {}
func (*startLog) Errorf(string, ...any)  {}
func (*startLog) Debugf(string, ...any)  {}
func (*startLog) Tracef(string, ...any)  {}
