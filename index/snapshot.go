package index

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"jianguo/index/resident"
)

// SnapshotFileName is the file inside the data directory that a start reads what is
// resident from. It can be removed.
const SnapshotFileName = resident.SnapshotFileName

// Config.SnapshotEvery's default, and the share of the index that has to have
// changed: an eighth, so that over the years a snapshot costs about eight times
// what was added, and a start after a crash replays no more than an eighth.
const (
	defaultSnapshotEvery = 200_000
	snapshotShare        = 8
)

// identity is a random number that ties a snapshot to its catalogue.
func (x *Index) identity(ctx context.Context) (int64, error) {
	var text string
	err := x.reader.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'identity'`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		var b [8]byte
		_, _ = rand.Read(b[:]) // does not fail
		text = hex.EncodeToString(b[:])
		_, err = x.writer.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES ('identity', ?)`, text)
	}
	if err != nil {
		return 0, fmt.Errorf("identity: %w", err)
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 8 {
		return 0, fmt.Errorf("identity %q of the catalogue is damaged", text)
	}
	return int64(binary.LittleEndian.Uint64(b) >> 1), nil
}

// last is the end of the catalogue. Guarded by Index.write.
func (x *Index) last() resident.Mark {
	return resident.Mark{Ordinal: int64(x.nextOrdinal) - 1, Event: int64(x.nextEvent) - 1}
}

// Snapshot writes what is resident beside the catalogue, while everything else
// goes on: only the pages that have changed since the last time.
func (x *Index) Snapshot(ctx context.Context) error {
	start := time.Now()
	m, pages, err := x.snapshot.Write(ctx, resident.Source{
		Tables:    x.tables(),
		Catalogue: x.catalogue, Writers: &x.write, Last: x.last,
	})
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	took := time.Since(start).Seconds()
	x.snapshotEvent.Store(m.Event)
	x.metrics.snapshot.Set(took)
	x.log.InfoContext(ctx, "snapshot written", "items", m.Ordinal, "pages", pages, "seconds", took)
	return nil
}

// snapshotDue reports whether enough has changed for the next snapshot.
func (x *Index) snapshotDue(event int64) bool {
	return event-x.snapshotEvent.Load() >= max(x.cfg.SnapshotEvery, event/snapshotShare)
}

// snapshotWorth reports whether a snapshot is worth the wait at an orderly end: it
// saves the next start more than writing it takes.
func (x *Index) snapshotWorth(event int64) bool {
	return event-x.snapshotEvent.Load() >= max(x.cfg.SnapshotEvery/10, event/500)
}

// snapshotWhenDue starts a snapshot in the background after a batch. Guarded
// by Index.write.
func (x *Index) snapshotWhenDue(ctx context.Context) {
	event := int64(x.nextEvent) - 1
	if !x.snapshotDue(event) || !x.snapshotting.CompareAndSwap(false, true) {
		return
	}
	x.background.Go(func() {
		defer x.snapshotting.Store(false)
		if err := x.Snapshot(context.WithoutCancel(ctx)); err != nil {
			// The catalogue has everything: only the next start takes longer.
			x.log.ErrorContext(ctx, "snapshot", "error", err)
			x.snapshotEvent.Store(event)
		}
	})
}
