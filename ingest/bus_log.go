package ingest

import (
	"fmt"
	"sync/atomic"
)

// lastWords is a logger of the embedded server that keeps why it gave up at its
// start, and nothing else: what it says later, its clients are told as well.
type lastWords struct{ why atomic.Pointer[string] }

func (l *lastWords) Fatalf(format string, v ...any) {
	s := fmt.Sprintf(format, v...)
	l.why.CompareAndSwap(nil, &s)
}

// get is why the server gave up; empty: it has not.
func (l *lastWords) get() string {
	if s := l.why.Load(); s != nil {
		return *s
	}
	return ""
}

func (*lastWords) Noticef(string, ...any) {}
func (*lastWords) Warnf(string, ...any)   {}
func (*lastWords) Errorf(string, ...any)  {}
func (*lastWords) Debugf(string, ...any)  {}
func (*lastWords) Tracef(string, ...any)  {}
