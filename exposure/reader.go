package exposure

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mattn/go-sqlite3"
)

const (
	selectHead  = "SELECT head FROM user WHERE history = ? AND user = ?"
	selectShard = "SELECT data FROM shard WHERE id = ?"
)

// readers are connections that do nothing but read one row by its key: the driver's
// own, since database/sql starts a goroutine a query to watch for its end, and locks
// and copies in between cost more than SQLite does for a row in its cache.
type readers struct {
	free chan struct{} // one for each connection that is not in use

	mu     sync.Mutex
	stack  []*readConn // under mu; last used first used, so that few caches are warm
	closed bool        // under mu
}

// readConn is owned by whoever took it from the stack.
type readConn struct {
	conn        driver.Conn
	stmts       []driver.Stmt
	head, shard driver.StmtQueryContext
	args        [2]driver.NamedValue
	row         [1]driver.Value
}

func openReaders(dsn string, n int) (_ *readers, err error) {
	r := &readers{free: make(chan struct{}, n)}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	for range n {
		c := &readConn{}
		if c.conn, err = (&sqlite3.SQLiteDriver{}).Open(dsn); err != nil {
			return nil, err
		}
		r.stack = append(r.stack, c)
		for _, st := range []struct {
			to  *driver.StmtQueryContext
			sql string
		}{{&c.head, selectHead}, {&c.shard, selectShard}} {
			stmt, err := c.conn.Prepare(st.sql)
			if err != nil {
				return nil, err
			}
			c.stmts = append(c.stmts, stmt)
			*st.to = stmt.(driver.StmtQueryContext)
		}
		r.free <- struct{}{}
	}
	return r, nil
}

// close closes those that are free. Whoever reads on is left his connection until he
// gives it back, and finds no other.
func (r *readers) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, c := range r.stack {
		errs = append(errs, c.close())
	}
	r.stack, r.closed = nil, true
	return errors.Join(errs...)
}

func (c *readConn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.conn.Close())...)
}

// take waits for a connection.
func (r *readers) take(ctx context.Context) (*readConn, error) {
	select {
	case <-r.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.stack) == 0 {
		r.free <- struct{}{}
		return nil, ErrClosed
	}
	c := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	return c, nil
}

func (r *readers) giveBack(c *readConn) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.free <- struct{}{} }()
	if r.closed {
		return c.close()
	}
	r.stack = append(r.stack, c)
	return nil
}

// one reads the row of a key; ok is false where there is none. The bytes are the
// caller's.
func (r *readers) one(ctx context.Context, query func(*readConn) (driver.Rows, error)) (b []byte, ok bool, err error) {
	c, err := r.take(ctx)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, r.giveBack(c)) }()
	q, err := query(c)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	c.row[0] = nil
	switch err := q.Next(c.row[:]); {
	case errors.Is(err, io.EOF):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	b, ok = c.row[0].([]byte)
	if !ok {
		return nil, false, fmt.Errorf("a row that is no blob: %w", ErrCorrupt)
	}
	return b, true, ctx.Err()
}

// A query is not given the request's context: the driver would start a goroutine to
// watch it, and a row is read sooner than that could interrupt it.

func (r *readers) readHead(ctx context.Context, history, user string) ([]byte, bool, error) {
	return r.one(ctx, func(c *readConn) (driver.Rows, error) {
		c.args = [2]driver.NamedValue{{Ordinal: 1, Value: history}, {Ordinal: 2, Value: user}}
		return c.head.QueryContext(context.Background(), c.args[:2])
	})
}

func (r *readers) readShard(ctx context.Context, id int64) ([]byte, bool, error) {
	return r.one(ctx, func(c *readConn) (driver.Rows, error) {
		c.args[0] = driver.NamedValue{Ordinal: 1, Value: id}
		return c.shard.QueryContext(context.Background(), c.args[:1])
	})
}
