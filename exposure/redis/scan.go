package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"jianguo/exposure/state"
)

// What follows is for commands that move users' histories into a Redis and back, or verify them there, and for the
// import from another Redis.

// Moved is the version of records that came from a file: earlier than that of any owner.
var Moved = Version{Epoch: 0, Seq: 1}

// Scan calls use with the names of the keys that match a pattern, some at a time and in no order. One may come twice.
func Scan(ctx context.Context, client rueidis.Client, pattern string, use func(names []string) error) error {
	masters, _, err := Masters(ctx, client)
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
		var addrs []state.Address
		var others []string
		for _, name := range names {
			if addr, ok := r.addressOf(name); ok {
				addrs = append(addrs, addr)
			} else {
				others = append(others, name)
			}
		}
		records, err := r.Read(ctx, false, addrs...)
		if err != nil {
			return err
		}
		return use(records, others)
	})
}

// addressOf reads the name of a record; ok is false for another key of the store.
func (r *Conn) addressOf(name string) (addr state.Address, ok bool) {
	rest, begins := strings.CutPrefix(name, r.Prefix+":{")
	end := strings.LastIndex(rest, "}:")
	if !begins || end < 0 {
		return addr, false
	}
	return state.Address{User: rest[:end], History: rest[end+2:]}, true
}

// ErrLive says that a Redis holds what a service has written.
var ErrLive = errors.New("the Redis holds histories that a service has written, and no secret to read them by")

// NoRecords returns ErrLive if there is a record.
func (r *Conn) NoRecords(ctx context.Context) error {
	return Scan(ctx, r.Client, Pattern(r.Prefix+":{")+"*", func(names []string) error {
		if len(names) > 0 {
			return fmt.Errorf("exposure: %w: restore the key %[2]s:secret from a copy of that Redis, or remove all "+
				"keys %[2]s:* to start afresh", ErrLive, r.Prefix)
		}
		return nil
	})
}

// Clear removes the records of a move that was not finished. It returns ErrLive if one of them is not of a move.
func (r *Conn) Clear(ctx context.Context) error {
	return r.Each(ctx, func(records []Found, _ []string) error {
		var commands rueidis.Commands
		for _, f := range records {
			if f.Err != nil || f.Version != Moved && f.Version != (Version{}) {
				return fmt.Errorf("user %q: %w", f.User, errors.Join(ErrLive, f.Err))
			}
			commands = append(commands, r.Client.B().Del().Key(r.Name(f.Address)).Build())
		}
		var err error
		for _, result := range r.Client.DoMulti(ctx, commands...) {
			err = errors.Join(err, result.Error())
		}
		return err
	})
}
