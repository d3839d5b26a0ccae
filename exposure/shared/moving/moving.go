// Package moving is for commands that move users' histories into a Redis and back. The service does not link it.
package moving

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"jianguo/exposure/shared"
)

// Moved is the version of records that came from a file: earlier than that of any owner.
var Moved = shared.Version{Epoch: 0, Seq: 1}

// Position is how far histories have been moved into this Redis, by the caller's own count; empty: not at all.
func Position(ctx context.Context, r *shared.Redis) (string, error) {
	s, err := r.Client.Do(ctx, r.Client.B().Get().Key(r.Prefix+":moving").Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "", nil
	}
	return s, err
}

// SetPosition stores it; empty: the move is over.
func SetPosition(ctx context.Context, r *shared.Redis, position string) error {
	key := r.Prefix + ":moving"
	if position == "" {
		return r.Client.Do(ctx, r.Client.B().Del().Key(key).Build()).Error()
	}
	return r.Client.Do(ctx, r.Client.B().Set().Key(key).Value(position).Build()).Error()
}

// Each calls use with all records that hold something, in no order; one that is written meanwhile may come twice.
func Each(ctx context.Context, r *shared.Redis, use func(shared.Key, *shared.Record) error) error {
	begins := r.Prefix + ":{"
	masters, err := r.Masters(ctx)
	if err != nil {
		return err
	}
	for address, node := range r.Client.Nodes() {
		if masters[address] == "" {
			continue
		}
		for cursor := uint64(0); ; {
			entry, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(escape(begins)+"*").Count(1000).Build()).AsScanEntry()
			if err != nil {
				return fmt.Errorf("exposure: scan Redis %s: %w", address, err)
			}
			for _, name := range entry.Elements {
				user, history, ok := cutLast(strings.TrimPrefix(name, begins), "}:")
				if !ok {
					return fmt.Errorf("exposure: key %q in Redis", name)
				}
				k := shared.Key{History: history, User: user}
				rec, err := r.Get(ctx, k, shared.Version{})
				if err == nil && rec != nil && rec.Head != nil {
					err = use(k, rec)
				}
				if err != nil {
					return err
				}
			}
			if cursor = entry.Cursor; cursor == 0 {
				break
			}
		}
	}
	return ctx.Err()
}

// escape makes text a pattern that matches it alone.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
