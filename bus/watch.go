package bus

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"jianguo/internal/clock"
	"jianguo/internal/disk"
)

// A stream whose write has failed refuses all later messages until it is reopened. So
// JetStream is reopened: after a full disk once there is room again, after any other
// failure (a quota, an error of the device) after a second, and then every reopenEvery. What it
// has acknowledged is in its files.
const (
	fullBelow   = 8 << 20 // bytes free: two messages of the largest size
	roomAbove   = 16 << 20
	watchEvery  = 200 * time.Millisecond
	reopenEvery = 2 * time.Second
	// A stream that is being created has a directory before the server knows it, which
	// the health check reports. So a failure counts once it lasts for a second.
	failedChecks = 5
)

// maxStore is more than any disk holds: streams have bounds of their own.
const maxStore = 1 << 50

// watch watches the disk and the streams until ctx ends.
func (b *Embedded) watch(ctx context.Context) {
	var reopened time.Time
	last, times := "", 0  // the failure of the last checks, and how many found it
	known := b.failures() // those that reopening does not mend
	for clock.Sleep(ctx, watchEvery) == nil {
		free, ok := b.measureDisk()
		if ok && free < fullBelow {
			if !b.full.Swap(true) {
				b.cfg.Logger.Error("the disk of the bus is full: items are refused", "dir", b.cfg.Dir, "free", free)
			}
			continue
		}
		full, why := b.full.Load(), newFailure(b.failures(), known)
		if why != last {
			last, times = why, 0
		}
		times++
		if full && ok && free <= roomAbove {
			continue
		}
		if !full && (why == "" || times < failedChecks || time.Since(reopened) < reopenEvery) {
			continue
		}
		err := b.reopen()
		if full {
			b.cfg.Logger.Warn("there is room again on the disk of the bus",
				"dir", b.cfg.Dir, "free", free, "error", err)
		} else {
			b.cfg.Logger.Error("the bus could not write, and was reopened",
				"dir", b.cfg.Dir, "reason", why, "error", err)
		}
		b.full.Store(full && err != nil)
		if reopened = time.Now(); err == nil {
			known = b.failures()
		}
	}
}

// failures says of each stream that does not work why; JetStream's health check knows.
func (b *Embedded) failures() map[string]string {
	health := b.server.Healthz(&server.HealthzOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT, Details: true})
	failed := map[string]string{}
	for _, e := range health.Errors {
		if e.Type == server.HealthzErrorStream || e.Type == server.HealthzErrorJetStream {
			failed[e.Stream] = e.Error
		}
	}
	return failed
}

// newFailure is a failure that is not known; empty: there is none. The health check also
// reports directories that hold no stream, and does so from the start.
func newFailure(now, known map[string]string) string {
	for _, stream := range slices.Sorted(maps.Keys(now)) {
		if why := now[stream]; known[stream] != why {
			return why
		}
	}
	return ""
}

// measureDisk measures how much is free on the disk, and whether gates may take more.
func (b *Embedded) measureDisk() (free uint64, ok bool) {
	d := disk.Disk{Dir: b.cfg.Dir, Reserve: b.cfg.Reserve}
	free, err := d.Free()
	if err != nil {
		b.room.Set(nil)
		return 0, false
	}
	b.room.Set(d.HasSpace())
	return free, true
}

func (b *Embedded) reopen() error {
	b.opening.Lock()
	defer b.opening.Unlock()
	if err := b.server.ShutdownJetStream(); err != nil {
		return err
	}
	return b.server.EnableJetStream(&server.JetStreamConfig{
		StoreDir: filepath.Clean(b.cfg.Dir), SyncAlways: b.cfg.syncAlways(),
		MaxStore: maxStore, MaxMemory: 64 << 20, Strict: true,
	})
}
