package redis

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/zeebo/xxh3"

	"jianguo/exposure/state"
)

// Verify reads all keys of a store in a Redis, in pages, and returns what it finds wrong: heads and shards that do
// not decode, shards that are missing, orphaned, or in two records, or have more bits set than their count allows,
// records that never expire, and keys and fields that are not of a store. It changes nothing. Services may be at
// work meanwhile: a record is read at once, in one command. A record that Redis names twice, as it may while a
// table grows, is counted twice. Verify keeps the numbers of all shards in memory, about 40 bytes each. It calls
// progress with the keys read so far, and about how many there are.
func Verify(ctx context.Context, r *Conn, progress func(done, total int64)) (_ state.Report, wrong []error, err error) {
	v := &storeVerifier{redis: r, owner: map[int64]uint64{}}
	var done int64
	if err = v.secret(ctx); err == nil {
		err = Names(ctx, r, func(names []string, total int64) error {
			done += int64(len(names))
			progress(done, total)
			return v.page(ctx, names)
		})
	}
	if err != nil {
		err = fmt.Errorf("exposure: verify the store in Redis: %w", err)
	}
	return v.Report, v.Wrong, err
}

// storeVerifier verifies a store in a Redis.
type storeVerifier struct {
	state.Findings
	redis *Conn
	owner map[int64]uint64 // hash of the address of a shard's user, by the number of the shard
}

func (v *storeVerifier) secret(ctx context.Context) error {
	secret, err := v.redis.Secret(ctx, nil)
	switch {
	case err != nil:
		return err
	case secret == nil:
		return errors.New("it has no secret: no service has used it, or a move into it is not finished")
	case len(secret) != 32:
		v.Say("the secret has %d bytes", len(secret))
	}
	return nil
}

// other are the keys of a store beside the records.
var other = regexp.MustCompile(`^:(secret|moving|part:([0-9]|1[0-5]))$`)

// page verifies the records among some keys.
func (v *storeVerifier) page(ctx context.Context, names []string) error {
	for _, name := range names {
		if _, ok := KeyNamed(v.redis, name); !ok && !other.MatchString(name[len(v.redis.Prefix):]) {
			v.Say("key %q is not of this store", name)
		}
	}
	keys := Keys(v.redis, names)
	found, err := Read(ctx, v.redis, keys)
	if err != nil {
		return err
	}
	endless, err := Endless(ctx, v.redis, keys)
	if err != nil {
		return err
	}
	for i := range found {
		if len(found[i].Fields) == 0 && found[i].Err == nil {
			continue // it has expired
		}
		if endless[i] && found[i].Err == nil {
			v.Say("user %q: the record never expires", state.Address(keys[i].History, keys[i].User))
		}
		v.record(&found[i])
	}
	return nil
}

func (v *storeVerifier) record(f *Found) {
	addr := state.Address(f.History, f.User)
	rec, err := f.Record()
	if err == nil && rec.Version == (Version{}) {
		err = errors.New("the record has no version")
	}
	if err != nil {
		v.Say("user %q: %w", addr, err)
		return
	}
	_, bad := f.Fields["bad"]
	if bad {
		v.Quarantined++
	}
	st := new(state.State)
	if rec.Head == nil {
		v.Forgotten++
	} else {
		v.Users++
		if st, err = state.DecodeHead(rec.Head, addr); err != nil {
			v.Say("user %q: %w", addr, err)
			return
		}
	}
	for _, sh := range st.Shards() {
		data, ok := rec.Shards[sh.ID()]
		if !ok {
			v.Say("user %q: shard %d is missing", addr, sh.ID())
			continue
		}
		delete(rec.Shards, sh.ID())
		v.shard(addr, sh, data)
	}
	for id := range rec.Shards {
		if !bad { // a head that was set aside does not name its shards
			v.Say("user %q: shard %d is not of the head", addr, id)
		}
	}
}

func (v *storeVerifier) shard(addr string, sh state.Shard, data []byte) {
	v.Shards++
	if err := sh.Verify(data); err != nil {
		v.Say("user %q: %w", addr, err)
	}
	user := xxh3.HashString(addr)
	if first, ok := v.owner[sh.ID()]; ok && first != user {
		v.Say("user %q: shard %d is another user's too", addr, sh.ID())
	}
	v.owner[sh.ID()] = user
}
