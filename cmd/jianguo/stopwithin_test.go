package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
)

// A service whose catalogue another process locks ends within --stop-within, with a reason. The
// next start judges what had been acknowledged.
func TestStopWithin(t *testing.T) {
	t.Parallel()
	s := serve(t, binary(t), filepath.Join(t.TempDir(), "data"), "--nats-listen", "127.0.0.1:0", "--stop-within", "1s")
	s.ready()
	s.publish(1)
	db, err := sql.Open("sqlite3", filepath.Join(s.data, index.FileName)+"?_txlock=immediate&_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	lock, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(s.address.NATS, nats.Token(s.address.Token))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), bus.SubjectPublish, article(2)); err != nil {
		t.Fatal(err)
	}
	s.signal(syscall.SIGTERM)
	select {
	case err := <-s.ended:
		if err == nil || !strings.Contains(s.log.String(), "not finished 1s after the signal") {
			t.Errorf("%v\n%s", err, s.log)
		}
	case <-time.After(patience):
		s.hang("the service does not end")
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.eventually("the item has its verdict", func() bool { return s.status("/items/n2") == 200 })
	s.stop()
}
