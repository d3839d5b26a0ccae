package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"jianguo/exposure"
	"jianguo/exposure/importer"
	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
)

// open connects to the store that the platform had before; nil: there is none.
func (f *legacyFlags) open(co *streams) (*importer.Old, error) {
	if f.LegacyRedis == "" {
		if f.Shadow {
			return nil, errors.New("--shadow: it compares with an old store; name it by --legacy-redis")
		}
		return nil, nil
	}
	old, err := importer.OpenOld(co.ctx, f.LegacyRedis, f.LegacyKey, co.log)
	if err == nil {
		old.Timeout, old.Shadow = f.LegacyTimeout, f.Shadow
	}
	return old, err
}

// spareKeys stay free for reports that arrive during an import.
const spareKeys = 64

// historyImport reports the part of a user's history that the policy of the default history keeps beside what
// the user has seen since, and then that the user is imported.
func historyImport(store *exposure.Store, policy exposure.Policy, zone *time.Location) func(context.Context, string, []trace.Exposure) error {
	return func(ctx context.Context, user string, history []trace.Exposure) error {
		info, err := store.Query(ctx, user, "", nil)
		if err != nil {
			return err
		}
		free := policy.Remembered() - spareKeys - info.Tail
		for _, sh := range info.Shards {
			free -= sh.Keys
		}
		for _, ev := range reportsOf(user, history, &policy, time.Now().In(zone), free) {
			if err := store.Expose(ctx, ev); err != nil {
				return err
			}
		}
		return store.Expose(ctx, exposure.Event{Kind: exposure.Imported, User: user})
	}
}

// reportsOf groups the newest part of a history, oldest first: all in one, or, for Calendar, by months.
func reportsOf(user string, history []trace.Exposure, policy *exposure.Policy, now time.Time, free int) (reports []exposure.Event) {
	used, oldest, last := map[string]int{}, policy.Oldest(now), ""
	if n := len(history); n > 0 && !history[n-1].At.IsZero() && history[n-1].At.Before(oldest) {
		return nil // also the newest one is forgotten
	}
	for _, e := range slices.Backward(history) {
		month := ""
		if policy.Kind == exposure.Calendar && !e.At.IsZero() {
			month = e.At.In(now.Location()).Format("2006-01")
		}
		if used[month]++; used[month] > free || month != "" && e.At.Before(oldest) || e.ID == "" || len(e.ID) > wire.MaxIDBytes {
			continue
		}
		if n := len(reports); n == 0 || month != last || len(reports[n-1].Items) == wire.MaxItems {
			reports, last = append(reports, exposure.Event{Kind: exposure.Seen, User: user, At: e.At}), month
		}
		ev := &reports[len(reports)-1]
		ev.Items = append(ev.Items, e.ID)
	}
	for _, ev := range reports {
		slices.Reverse(ev.Items)
	}
	slices.Reverse(reports)
	return reports
}
