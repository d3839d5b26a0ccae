package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"jianguo/exposure"
	"jianguo/exposure/redis"
	histories "jianguo/exposure/state"
	"jianguo/internal/must"
)

// importOld begins to import the users of the store that the platform had before, if there is one: it reports the part
// of a user's history that the policy of the default history keeps beside what the user has seen since, and then that
// the user is imported. It panics on errors (must).
func (f *legacyFlags) importOld(co *stdio, s *service, zone *time.Location) {
	if f.LegacyRedis == "" {
		return
	}
	if sc, ok := s.histories.Scenes[""]; ok && !(slices.Contains(sc.Reads, "") && slices.Contains(sc.Writes, "")) {
		must.Do(fmt.Errorf("--legacy-redis: scenes.default of %s has to read and to write default, which users are "+
			"imported into", s.flags.ExposurePolicy))
	}
	policy := s.histories.Policies[""]
	old := must.Get(redis.OpenOld(f.LegacyRedis, f.LegacyKey, co.log,
		func(ctx context.Context, user string, history []redis.Exposure) error {
			info, err := s.exposure.Query(ctx, user, "", nil)
			for _, other := range info.Others {
				if other.History == "" {
					info = other
				}
			}
			if err != nil || info.Imported {
				return err
			}
			for _, r := range redis.Plan(&policy, history, info, time.Now().In(zone)) {
				ev := exposure.Event{Kind: histories.Seen, User: user, Items: r.Items, At: r.At}
				if err := s.exposure.Expose(ctx, ev); err != nil {
					return err
				}
			}
			return s.exposure.Expose(ctx, exposure.Event{Kind: histories.Imported, User: user})
		}))
	go old.ImportAll(co.ctx)
}
