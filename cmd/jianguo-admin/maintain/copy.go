package maintain

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/internal/sqlite"
)

// awaitApplied waits until the service on a bus has applied every item that the bus holds
// now. prefix is that of the names of its streams, service the name of the process that is meant.
func awaitApplied(ctx context.Context, nc *nats.Conn, prefix, service string) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("%w", err)
	}
	stream, err := js.Stream(ctx, prefix+bus.StreamItems)
	if err != nil {
		return fmt.Errorf("stream %s: %w", bus.StreamItems, err)
	}
	for last := stream.CachedInfo().State.LastSeq; ; {
		answer, err := nc.RequestWithContext(ctx, bus.SubjectApplied, []byte(service))
		if err != nil {
			return fmt.Errorf("no service answers how many items it has applied: %w", err)
		}
		applied, err := strconv.ParseUint(string(answer.Data), 10, 64)
		if err != nil {
			return fmt.Errorf("how many items are applied: %w", err)
		}
		if applied >= last {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("items %d to %d still wait for their verdicts: %w", applied+1, last, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// copyDead copies the dead letters of a bus, whose streams have a prefix, into the directory of an embedded bus that
// is not running, and returns their number.
func copyDead(ctx context.Context, from *nats.Conn, prefix, dir string) (n int, err error) {
	live, err := jetstream.New(from)
	if err != nil {
		return 0, err
	}
	dead, err := live.Stream(ctx, prefix+bus.StreamDead)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("dead letters: %w", err)
	}
	embedded, err := bus.Start(bus.Config{Dir: dir})
	if err != nil {
		return 0, err
	}
	defer embedded.Close()
	nc, err := embedded.Connect()
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, err
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: bus.StreamDead, Subjects: dead.CachedInfo().Config.Subjects, AllowMsgTTL: true}); err != nil {
		return 0, fmt.Errorf("dead letters: %w", err)
	}
	state := dead.CachedInfo().State
	for number := max(state.FirstSeq, 1); number <= state.LastSeq; number++ {
		m, err := dead.GetMsg(ctx, number)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err == nil {
			_, err = js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
		}
		if err != nil {
			return n, fmt.Errorf("dead letter %d: %w", number, err)
		}
		n++
	}
	return n, nil
}

// copyState copies a state file, which may be in use, to another place: as it stood
// at one moment, synced. It waits until the file holds every event up to a
// sequence of the log; 0 does not wait.
func copyState(ctx context.Context, path, to string, seq uint64) (err error) {
	db, err := sql.Open("sqlite3", exposure.FileDSN(path, "_busy_timeout=10000"))
	if err != nil {
		return fmt.Errorf("exposure: backup: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for {
		var applied string
		if err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'applied'").Scan(&applied); err != nil {
			return fmt.Errorf("exposure: backup of %s: %w", path, err)
		}
		n, err := strconv.ParseUint(applied, 10, 64)
		if err != nil {
			return fmt.Errorf("exposure: meta applied: %w", err)
		}
		if n >= seq {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("exposure: the state file holds events up to %d of %d: %w", n, seq, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := sqlite.CopyTo(ctx, db, to); err != nil {
		return fmt.Errorf("exposure: backup of %s: %w", path, err)
	}
	return nil
}
