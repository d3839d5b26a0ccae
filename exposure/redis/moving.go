package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
)

// What follows is for commands that move users' histories into a Redis and back, or verify them there.

// Moved is the version of records that came from a file: earlier than that of any owner.
var Moved = Version{Epoch: 0, Seq: 1}

// Position is how far histories have been moved into this Redis, by the caller's own count; empty: not at all.
func Position(ctx context.Context, r *Conn) (string, error) {
	s, err := r.Client.Do(ctx, r.Client.B().Get().Key(r.Prefix+":moving").Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "", nil
	}
	return s, err
}

// SetPosition stores it; empty: the move is over.
func SetPosition(ctx context.Context, r *Conn, position string) error {
	key := r.Prefix + ":moving"
	if position == "" {
		return r.Client.Do(ctx, r.Client.B().Del().Key(key).Build()).Error()
	}
	return r.Client.Do(ctx, r.Client.B().Set().Key(key).Value(position).Build()).Error()
}

// Names calls use with the names of all keys of the store, some at a time and in no order. One may come twice. total is
// about how many keys the servers hold.
func Names(ctx context.Context, r *Conn, use func(names []string, total int64) error) error {
	masters, err := r.Masters(ctx)
	if err != nil {
		return err
	}
	nodes := r.Client.Nodes()
	var total int64
	for address := range masters {
		n, err := nodes[address].Do(ctx, nodes[address].B().Dbsize().Build()).AsInt64()
		if err != nil {
			return fmt.Errorf("exposure: Redis %s: %w", address, err)
		}
		total += n
	}
	for address := range masters {
		for cursor := uint64(0); ; {
			node := nodes[address]
			scan := node.B().Scan().Cursor(cursor).Match(escape(r.Prefix+":") + "*").Count(1000).Build()
			page, err := node.Do(ctx, scan).AsScanEntry()
			if err != nil {
				return fmt.Errorf("exposure: scan Redis %s: %w", address, err)
			}
			if err := use(page.Elements, total); err != nil {
				return err
			}
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
	return ctx.Err()
}

// KeyNamed reads the name of a record; ok is false for another key of the store.
func KeyNamed(r *Conn, name string) (k Key, ok bool) {
	rest, begins := strings.CutPrefix(name, r.Prefix+":{")
	end := strings.LastIndex(rest, "}:")
	if !begins || end < 0 {
		return k, false
	}
	return Key{User: rest[:end], History: rest[end+2:]}, true
}

// Keys are those of the names that name records.
func Keys(r *Conn, names []string) (keys []Key) {
	for _, name := range names {
		if k, ok := KeyNamed(r, name); ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// Found is a record as Redis has it.
type Found struct {
	Key
	Fields map[string]string // and their values; empty: it has expired meanwhile
	Err    error             // it is no hash
}

// Record decodes it, apart from head and shards.
func (f *Found) Record() (*Record, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	var fields []string
	for name, value := range f.Fields {
		fields = append(fields, name, value)
	}
	return ParseRecord(fields)
}

// Read reads records in one pipeline, in the order of the keys.
func Read(ctx context.Context, r *Conn, keys []Key) ([]Found, error) {
	commands := make(rueidis.Commands, len(keys))
	for i, k := range keys {
		commands[i] = r.Client.B().Hgetall().Key(r.Name(k)).Build()
	}
	out := make([]Found, len(keys))
	for i, result := range r.Client.DoMulti(ctx, commands...) {
		out[i].Key = keys[i]
		out[i].Fields, out[i].Err = result.AsStrMap()
		if _, answered := rueidis.IsRedisErr(out[i].Err); out[i].Err != nil && !answered {
			return nil, fmt.Errorf("exposure: read from Redis: %w", out[i].Err)
		}
	}
	return out, nil
}

// Endless reports which records never expire.
func Endless(ctx context.Context, r *Conn, keys []Key) ([]bool, error) {
	commands := make(rueidis.Commands, len(keys))
	for i, k := range keys {
		commands[i] = r.Client.B().Pttl().Key(r.Name(k)).Build()
	}
	out := make([]bool, len(keys))
	for i, result := range r.Client.DoMulti(ctx, commands...) {
		ms, err := result.AsInt64()
		if err != nil {
			return nil, fmt.Errorf("exposure: read from Redis: %w", err)
		}
		out[i] = ms == -1
	}
	return out, nil
}

// Each calls use with all records that hold something, in no order; one may come twice.
func Each(ctx context.Context, r *Conn, use func(Key, *Record) error) error {
	return Names(ctx, r, func(names []string, _ int64) error {
		found, err := Read(ctx, r, Keys(r, names))
		for i := range found {
			var rec *Record
			if rec, err = found[i].Record(); err == nil && rec.Head != nil {
				err = use(found[i].Key, rec)
			}
			if err != nil {
				return fmt.Errorf("user %q: %w", found[i].User, err)
			}
		}
		return err
	})
}

// ErrLive says that a Redis holds what a service has written.
var ErrLive = errors.New("the Redis holds histories that a service has written, and no secret to read them by")

// Clear removes the records of a move that was not finished. It returns ErrLive if one of them is not of a move.
func Clear(ctx context.Context, r *Conn) error {
	return Names(ctx, r, func(names []string, _ int64) error {
		keys := Keys(r, names)
		heads, err := r.Heads(ctx, keys)
		if err != nil {
			return err
		}
		var commands rueidis.Commands
		for i, k := range keys {
			if heads[i].Version != Moved && heads[i].Version != (Version{}) {
				return fmt.Errorf("user %q: %w", k.User, ErrLive)
			}
			commands = append(commands, r.Client.B().Del().Key(r.Name(k)).Build())
		}
		for _, result := range r.Client.DoMulti(ctx, commands...) {
			err = errors.Join(err, result.Error())
		}
		return err
	})
}

// escape makes text a pattern that matches it alone.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
