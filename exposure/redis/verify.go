package redis

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/rueidis"
	"github.com/zeebo/xxh3"

	"jianguo/exposure/state"
	"jianguo/internal/must"
	"jianguo/internal/wrap"
)

// Verify reads all keys of a store in a Redis, in pages, and returns what it finds wrong: heads and shards that do
// not decode, shards that are missing, orphaned, or in two records, or have more bits set than their count allows,
// and keys and fields that are not of a store. It changes nothing. Services may be at work meanwhile: a record is read
// at once, in one command. A record that Redis names twice, as it may while a table grows, is counted twice. Verify
// keeps the numbers of all shards in memory, about 40 bytes each. It calls progress with the keys read so far.
func Verify(ctx context.Context, r *Conn, progress func(keys int64)) (_ state.Report, wrong []error, err error) {
	v := NewVerifier()
	var done int64
	err = must.Catch(func() {
		secret := must.Get(r.Secret(ctx, nil))
		if secret == nil {
			must.Do(errors.New("it has no secret: no service has used it, or a move into it is not finished"))
		}
		if len(secret) != 32 {
			v.Say("the secret has %d bytes", len(secret))
		}
		must.Do(r.Each(ctx, func(records []Found, others []string) error {
			for _, name := range others {
				if !other.MatchString(name[len(r.Prefix):]) {
					v.Say("key %q is not of this store", name)
				}
			}
			for _, f := range records {
				v.Record(f)
			}
			done += int64(len(records) + len(others))
			progress(done)
			return nil
		}))
	})
	return v.Report, v.Wrong, wrap.Err(err, "exposure: verify the store in Redis")
}

// Verifier verifies records, of a store in a Redis or of a file. It has counted them, and says what is wrong.
type Verifier struct {
	state.Report
	Wrong []error
	owner map[int64]uint64 // hash of the address of a shard's user, by the number of the shard
}

// NewVerifier returns a Verifier that has seen no record.
func NewVerifier() *Verifier { return &Verifier{owner: map[int64]uint64{}} }

// Say records a defect; a hundred are enough to act on.
func (v *Verifier) Say(format string, args ...any) {
	if len(v.Wrong) < 100 {
		v.Wrong = append(v.Wrong, fmt.Errorf(format, args...))
	}
}

// Owned reports whether a shard is of a record that was verified.
func (v *Verifier) Owned(shard int64) bool { return v.owner[shard] != 0 }

// other are the keys of a store beside the records.
var other = regexp.MustCompile(`^:(secret|part:([0-9]|1[0-5]))$`)

// Record verifies a record with its shards.
func (v *Verifier) Record(f Found) {
	addr, err := f.Address, f.Err
	if err == nil && f.Stored != f.Version.String() {
		if f.Stored == "" && f.Head == nil && len(f.Shards) == 0 {
			return // it has expired
		}
		err = fmt.Errorf("%q is no version", f.Stored)
	}
	if err != nil {
		v.Say("user %q: %w", addr, err)
		return
	}
	for _, name := range f.Others {
		if name == Aside {
			v.Quarantined++
		} else {
			v.Say("user %q: field %.20q is not of a record", addr, name)
		}
	}
	st := new(state.State)
	if f.Head == nil {
		v.Forgotten++
	} else {
		v.Users++
		if st, err = state.DecodeHead(f.Head, addr); err != nil {
			v.Say("user %q: %w", addr, err)
			return
		}
	}
	for _, sh := range st.Shards() {
		data, ok := f.Shards[sh.ID()]
		if !ok {
			v.Say("user %q: shard %d is missing", addr, sh.ID())
			continue
		}
		delete(f.Shards, sh.ID())
		v.shard(addr, sh, data)
	}
	for id := range f.Shards {
		v.Say("user %q: shard %d is not of the head", addr, id)
	}
}

func (v *Verifier) shard(addr state.Address, sh state.Shard, data []byte) {
	v.Shards++
	if err := sh.Verify(data); err != nil {
		v.Say("user %q: %w", addr, err)
	}
	user := xxh3.HashString(addr.String())
	if first, ok := v.owner[sh.ID()]; ok && first != user {
		v.Say("user %q: shard %d is another user's too", addr, sh.ID())
	}
	v.owner[sh.ID()] = user
}

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
	for address, run := range masters {
		if run == "" { // a replica
			continue
		}
		node := client.Nodes()[address]
		if node == nil {
			return fmt.Errorf("exposure: scan Redis %s: it has left the cluster", address)
		}
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
