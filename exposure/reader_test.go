package exposure

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
)

// TestReaders reads rows that are there, that are not, and one that is no blob.
func TestReaders(t *testing.T) {
	f := newFixture(t, Config{})
	ctx := context.Background()
	t.Cleanup(func() { // the file is verified after the test, and these are no users
		for _, table := range []string{"user", "shard"} {
			if _, err := f.db.write.ExecContext(ctx, "DELETE FROM "+table); err != nil {
				t.Error(err)
			}
		}
	})
	for _, row := range []struct {
		sql  string
		args []any
	}{
		{"INSERT INTO user VALUES (?, ?, ?)", []any{"h", "u", []byte("head")}},
		{"INSERT INTO user VALUES (?, ?, ?)", []any{"h", "text", "no blob"}},
		{"INSERT INTO user VALUES (?, ?, ?)", []any{"h", "empty", []byte{}}},
		{"INSERT INTO shard VALUES (?, ?)", []any{77, []byte("shard")}},
	} {
		if _, err := f.db.write.ExecContext(ctx, row.sql, row.args...); err != nil {
			t.Fatal(err)
		}
	}
	r := f.db.keyed
	for _, c := range []struct {
		name, user, want string
		ok               bool
		err              error
	}{
		{"there", "u", "head", true, nil},
		{"not there", "nobody", "", false, nil},
		{"empty", "empty", "", true, nil},
		{"no blob", "text", "", false, ErrCorrupt},
		{"after an error", "u", "head", true, nil},
	} {
		b, ok, err := r.readHead(ctx, "h", c.user)
		if string(b) != c.want || ok != c.ok || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v, %v", c.name, b, ok, err)
		}
	}
	if b, ok, err := r.readHead(ctx, "other", "u"); ok || err != nil {
		t.Errorf("another history: %q, %v", b, err)
	}
	if b, ok, err := r.readShard(ctx, 77); !ok || err != nil || !bytes.Equal(b, []byte("shard")) {
		t.Errorf("shard: %q, %v, %v", b, ok, err)
	}
	if b, ok, err := r.readShard(ctx, 78); ok || err != nil {
		t.Errorf("no shard: %q, %v", b, err)
	}
}

// TestReadersAreBounded: who finds all connections taken waits, no longer than his
// context, and goes on when one comes back.
func TestReadersAreBounded(t *testing.T) {
	f := newFixture(t, Config{})
	r := f.db.keyed
	var taken []*readConn
	for range readConnections {
		c, err := r.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, c)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.readHead(over, "", "u"); !errors.Is(err, context.Canceled) {
		t.Fatalf("with all taken: %v", err)
	}
	var waiting sync.WaitGroup
	for range 3 * readConnections {
		waiting.Go(func() {
			if _, ok, err := r.readHead(t.Context(), "", "u"); ok || err != nil {
				t.Errorf("after waiting: %v, %v", ok, err)
			}
		})
	}
	for _, c := range taken {
		if err := r.giveBack(c); err != nil {
			t.Error(err)
		}
	}
	waiting.Wait()
	if len(r.free) != readConnections || len(r.stack) != readConnections {
		t.Errorf("%d free, %d on the stack, of %d", len(r.free), len(r.stack), readConnections)
	}
}

// TestReadersClosed: who reads while the file is closed keeps his connection, which is
// closed when it comes back; nobody gets one afterwards.
func TestReadersClosed(t *testing.T) {
	f := newFixture(t, Config{})
	r, err := openReaders(dsn(f.cfg.Path, "_query_only=on"), 2)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.readHead(t.Context(), "", "u"); !errors.Is(err, ErrClosed) {
		t.Fatalf("after the end: %v", err)
	}
	if _, err := c.conn.Prepare(selectHead); err != nil {
		t.Fatalf("the connection of who reads on: %v", err)
	}
	if err := r.giveBack(c); err != nil {
		t.Fatal(err)
	}
	if _, err := c.conn.Prepare(selectHead); err == nil {
		t.Fatal("a connection given back after the end is open")
	}
	if _, _, err := r.readShard(t.Context(), 1); !errors.Is(err, ErrClosed) {
		t.Fatalf("after it came back: %v", err)
	}
}
