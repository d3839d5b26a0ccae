//go:build !race

package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/internal/testbed"
)

// A service whose catalogue another process locks ends within --stop-within, with a reason. The
// next start judges what had been acknowledged.
func TestStopWithin(t *testing.T) {
	t.Parallel()
	s := serveReady(t, plainBinary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0", "--stop-within", "2s")
	s.publish(1)
	unlock := s.lockCatalogue()
	js := s.jetstream()
	if _, err := js.Publish(t.Context(), bus.SubjectPublish, article(2)); err != nil {
		t.Fatal(err)
	}
	s.signal(syscall.SIGTERM)
	if err := s.end(); err == nil || !strings.Contains(s.log.String(), "not finished 2s after the signal") {
		t.Errorf("%v\n%s", err, s.log)
	}
	unlock()
	s.start()
	s.eventually("the item has its verdict", func() bool { return s.status("/items/n2") == 200 })
	s.stop()
}

// lockCatalogue locks the catalogue for writing until unlock is called.
func (s *process) lockCatalogue() (unlock func()) {
	s.t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(s.data, index.FileName)+"?_txlock=immediate&_busy_timeout=10000")
	testbed.OK(s.t, err)
	lock, err := db.BeginTx(context.Background(), nil)
	testbed.OK(s.t, err)
	return func() {
		if err := errors.Join(lock.Rollback(), db.Close()); err != nil {
			s.t.Error(err)
		}
	}
}

// When --backlog is used up, publishers get an error at once. Items are taken again when there
// is room.
func TestBacklog(t *testing.T) {
	t.Parallel()
	s := serveReady(t, plainBinary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0", "--backlog", "64")
	s.publish(0)
	unlock := s.lockCatalogue()
	js := s.jetstream()
	var err error
	taken := 0
	for taken < 200 && err == nil { // no JSON: quickly refused, and held up behind the lock all the same
		if _, err = js.Publish(t.Context(), bus.SubjectPublish, make([]byte, 512<<10)); err == nil {
			taken++
		}
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode != 10077 || taken < 100 {
		t.Errorf("after %d messages of 512 KiB: %v", taken, err)
	}
	if status, answer, err := s.post("/items", article(1)); status != 429 && status != 200 && status != 202 {
		t.Errorf("an item: %d %s %v", status, answer, err)
	}
	s.eventually("not ready", func() bool {
		_, answer, _ := s.get("/readyz")
		return strings.Contains(string(answer), "stream ITEMS is full") || strings.Contains(string(answer), "items wait")
	})
	unlock()
	s.ready()
	s.publish(2)
	s.stop()
}
