package redis_test

import (
	"context"
	"sync"
	"time"

	"jianguo/exposure/eventlog"
)

// memoryLog is a log that holds its last entry only: its one reader is never behind.
type memoryLog struct {
	now  time.Time
	mu   sync.Mutex
	last uint64                     // mu
	feed func(eventlog.Entry) error // mu; of the reader
}

func (l *memoryLog) Append(_ context.Context, subject string, data []byte) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return l.last, l.feed(eventlog.Entry{Seq: l.last, Subject: subject, Data: data, Time: l.now})
}

func (l *memoryLog) State(context.Context) (eventlog.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return eventlog.State{ID: "memory", First: 1, Last: l.last}, nil
}

func (l *memoryLog) Consume(ctx context.Context, _ uint64, f func(eventlog.Entry) error) error {
	l.mu.Lock()
	l.feed = f
	l.mu.Unlock()
	<-ctx.Done()
	return nil
}

// read reports whether there is a reader.
func (l *memoryLog) read() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.feed != nil
}

func (l *memoryLog) Synced(context.Context, uint64) error  { return nil }
func (l *memoryLog) Release(context.Context, uint64) error { return nil }
