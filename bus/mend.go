package bus

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A stream whose write has failed refuses all later messages until it is reopened. So
// JetStream is reopened: after a full disk once there is room again, after any other
// failure (a quota, an error of the device) at once, and then every reopenEvery. What it
// has acknowledged is in its files.
const (
	fullBelow   = 8 << 20 // bytes free: two messages of the largest size
	roomAbove   = 16 << 20
	watchEvery  = 200 * time.Millisecond
	reopenEvery = 2 * time.Second
)

// watch watches the disk and the streams until the bus is closed.
func (b *Embedded) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var reopened time.Time
	known := b.failures() // those that reopening does not mend
	for {
		select {
		case <-b.done:
			return
		case <-tick.C:
		}
		free, ok := b.look()
		if ok && free < fullBelow {
			if !b.full.Swap(true) {
				b.log.Error("the disk of the bus is full: items are refused", "dir", b.cfg.Dir, "free", free)
			}
			continue
		}
		full, why := b.full.Load(), newFailure(b.failures(), known)
		if full && ok && free <= roomAbove || !full && (why == "" || time.Since(reopened) < reopenEvery) {
			continue
		}
		err := b.reopen()
		if full {
			b.log.Warn("there is room again on the disk of the bus", "dir", b.cfg.Dir, "free", free, "error", err)
		} else {
			b.log.Error("the bus could not write, and was reopened", "dir", b.cfg.Dir, "reason", why, "error", err)
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
	for stream, why := range now {
		if known[stream] != why {
			return why
		}
	}
	return ""
}

// look measures how much is free on the disk, and whether gates may take more.
func (b *Embedded) look() (free uint64, ok bool) {
	free, ok = freeBytes(b.cfg.Dir)
	if !ok || free >= b.cfg.Reserve {
		b.room.Store(nil)
		return free, ok
	}
	err := fmt.Errorf("%d MiB are free where the data directory is, and the reserve is %d MiB: make room", free>>20, b.cfg.Reserve>>20)
	b.room.Store(&err)
	return free, ok
}

func (b *Embedded) reopen() error {
	if err := b.server.ShutdownJetStream(); err != nil {
		return err
	}
	return b.server.EnableJetStream(&server.JetStreamConfig{StoreDir: filepath.Clean(b.cfg.Dir), SyncAlways: b.cfg.syncAlways(), MaxStore: maxStore, MaxMemory: 64 << 20, Strict: true})
}
