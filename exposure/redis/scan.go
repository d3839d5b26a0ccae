package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
)

// What follows is for commands that move users' histories into a Redis and back, or verify them there, and for the
// import from another Redis.

// Moved is the version of records that came from a file: earlier than that of any owner.
var Moved = Version{Epoch: 0, Seq: 1}

// Scan calls use with the names of the keys that match a pattern, some at a time and in no order. One may come twice.
func Scan(ctx context.Context, client rueidis.Client, pattern string, use func(names []string) error) error {
	masters, err := Masters(ctx, client)
	if err != nil {
		return err
	}
	for address := range masters {
		node := client.Nodes()[address]
		for cursor := uint64(0); ; {
			scan := node.B().Scan().Cursor(cursor).Match(pattern).Count(1000).Build()
			page, err := node.Do(ctx, scan).AsScanEntry()
			if err != nil {
				return fmt.Errorf("exposure: scan Redis %s: %w", address, err)
			}
			if err := use(page.Elements); err != nil {
				return err
			}
			if cursor = page.Cursor; cursor == 0 {
				break
			}
		}
	}
	return ctx.Err()
}

// Pattern makes text a pattern that matches it alone.
func Pattern(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// Each calls use with the records of the store, some at a time, and with the names of its other keys. One may come
// twice.
func (r *Conn) Each(ctx context.Context, use func(records []Found, others []string) error) error {
	return Scan(ctx, r.Client, Pattern(r.Prefix+":")+"*", func(names []string) error {
		var keys []Key
		var others []string
		for _, name := range names {
			if k, ok := r.keyNamed(name); ok {
				keys = append(keys, k)
			} else {
				others = append(others, name)
			}
		}
		records, err := r.Read(ctx, keys)
		if err != nil {
			return err
		}
		return use(records, others)
	})
}

// keyNamed reads the name of a record; ok is false for another key of the store.
func (r *Conn) keyNamed(name string) (k Key, ok bool) {
	rest, begins := strings.CutPrefix(name, r.Prefix+":{")
	end := strings.LastIndex(rest, "}:")
	if !begins || end < 0 {
		return k, false
	}
	return Key{User: rest[:end], History: rest[end+2:]}, true
}

// Found is a record as Redis has it, or why that is none.
type Found struct {
	Key
	*Record // without anything: it has expired meanwhile
	Err     error
}

// Read reads records in one pipeline, in the order of the keys.
func (r *Conn) Read(ctx context.Context, keys []Key) ([]Found, error) {
	commands := make(rueidis.Commands, len(keys))
	for i, k := range keys {
		commands[i] = r.Client.B().Hgetall().Key(r.Name(k)).Build()
	}
	out := make([]Found, len(keys))
	for i, result := range r.Client.DoMulti(ctx, commands...) {
		fields, err := result.AsStrSlice()
		if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
			return nil, fmt.Errorf("exposure: read from Redis: %w", err)
		}
		out[i] = Found{Key: keys[i], Err: err}
		if err == nil {
			out[i].Record, out[i].Err = ParseRecord(fields)
		}
	}
	return out, nil
}

// ErrLive says that a Redis holds what a service has written.
var ErrLive = errors.New("the Redis holds histories that a service has written, and no secret to read them by")

// Clear removes the records of a move that was not finished. It returns ErrLive if one of them is not of a move.
func (r *Conn) Clear(ctx context.Context) error {
	return r.Each(ctx, func(records []Found, _ []string) error {
		var commands rueidis.Commands
		for _, f := range records {
			if f.Err != nil || f.Version != Moved && f.Version != (Version{}) {
				return fmt.Errorf("user %q: %w", f.User, errors.Join(ErrLive, f.Err))
			}
			commands = append(commands, r.Client.B().Del().Key(r.Name(f.Key)).Build())
		}
		var err error
		for _, result := range r.Client.DoMulti(ctx, commands...) {
			err = errors.Join(err, result.Error())
		}
		return err
	})
}
