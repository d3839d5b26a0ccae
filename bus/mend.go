package bus

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A stream whose write failed refuses all that follow until it is opened again. So
// JetStream is opened anew: after a disk was as good as full once there is room again,
// after any other failure (a quota, a device's error) at once, and then now and then.
// What it has acknowledged is in its files.
const (
	fullBelow   = 8 << 20 // bytes free: two messages of the largest size
	roomAbove   = 16 << 20
	mendEvery   = 200 * time.Millisecond
	brokenEvery = 2 * time.Second
)

// mend watches the disk and the streams until the bus is closed.
func (b *Embedded) mend(cfg Config) {
	defer close(b.mended)
	tick := time.NewTicker(mendEvery)
	defer tick.Stop()
	var mended time.Time // after a failure that was not of a full disk
	for {
		select {
		case <-b.done:
			return
		case <-tick.C:
		}
		free, ok := b.look(cfg)
		why := b.log.broken.Load()
		switch {
		case ok && free < fullBelow:
			if !b.full.Swap(true) && cfg.Logger != nil {
				cfg.Logger.Error("the disk of the bus is full: items are refused", "dir", cfg.Dir, "free", free)
			}
		case ok && b.full.Load():
			if free > roomAbove {
				err := b.restartJetStream(cfg)
				if cfg.Logger != nil {
					cfg.Logger.Warn("there is room again on the disk of the bus", "dir", cfg.Dir, "free", free, "error", err)
				}
				b.full.Store(err != nil)
			}
		case why != nil && time.Since(mended) > brokenEvery:
			err := b.restartJetStream(cfg)
			if cfg.Logger != nil {
				cfg.Logger.Error("the bus could not write, and is opened anew", "dir", cfg.Dir, "reason", *why, "error", err)
			}
			if mended = time.Now(); err != nil {
				b.log.broken.CompareAndSwap(nil, why) // try again
			}
		}
	}
}

// look sees how much is free on the disk, and whether there is room for more.
func (b *Embedded) look(cfg Config) (free uint64, ok bool) {
	free, ok = freeBytes(cfg.Dir)
	if !ok || free >= cfg.Reserve {
		b.room.Store(nil)
		return free, ok
	}
	err := fmt.Errorf("%d MiB are free where the data directory is, and the reserve is %d MiB: make room", free>>20, cfg.Reserve>>20)
	b.room.Store(&err)
	return free, ok
}

func (b *Embedded) restartJetStream(cfg Config) error {
	b.log.broken.Store(nil)
	if err := b.server.ShutdownJetStream(); err != nil {
		return err
	}
	return b.server.EnableJetStream(&server.JetStreamConfig{StoreDir: filepath.Clean(cfg.Dir), SyncAlways: cfg.syncAlways(), MaxStore: maxStore, MaxMemory: 64 << 20, Strict: true})
}
