package main

import (
	"context"
	"errors"
	"time"

	"jianguo/exposure"
	"jianguo/exposure/redis"
	"jianguo/exposure/trace"
)

// open connects to the store that the platform had before; nil: there is none.
func (f *legacyFlags) open(co *streams) (*redis.Old, error) {
	if f.LegacyRedis == "" {
		if f.Shadow || f.LegacyAll || f.LegacyDryRun {
			return nil, errors.New("--shadow, --legacy-all, --legacy-dry-run: name the old store by --legacy-redis")
		}
		return nil, nil
	}
	old, err := redis.OpenOld(co.ctx, f.LegacyRedis, f.LegacyKey, co.log)
	if err == nil {
		old.Timeout, old.Shadow = f.LegacyTimeout, f.Shadow
	}
	return old, err
}

// historyImport reports the part of a user's history that the policy of the default history keeps beside what
// the user has seen since, and then that the user is imported.
func historyImport(store *exposure.Store, policy exposure.Policy, zone *time.Location,
) func(context.Context, string, []trace.Exposure) error {
	return func(ctx context.Context, user string, history []trace.Exposure) error {
		info, err := store.Query(ctx, user, "", nil)
		if err != nil {
			return err
		}
		if info.Imported {
			return nil
		}
		for _, r := range redis.Plan(&policy, history, info, time.Now().In(zone)) {
			ev := exposure.Event{Kind: exposure.Seen, User: user, Items: r.Items, At: r.At}
			if err := store.Expose(ctx, ev); err != nil {
				return err
			}
		}
		return store.Expose(ctx, exposure.Event{Kind: exposure.Imported, User: user})
	}
}
