package browse

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"jianguo/index"
	"jianguo/index/sqlite"
	"jianguo/index/verdict"
)

// listsBatch is how many events one transaction takes in.
const listsBatch = 1024

// step takes in one batch of events and returns how many it had.
func (b *Model) step(ctx context.Context) (n int, err error) {
	mark, err := b.mark(ctx)
	if err != nil {
		return 0, err
	}
	var events []seen
	err = sqlite.Each(ctx, b.cat.Tables(), seenQuery, func(r *sql.Rows) error {
		var s seen
		err := s.scan(r)
		events = append(events, s)
		return err
	}, mark, listsBatch)
	if err != nil {
		return 0, err
	}
	idle := len(events) == 0
	if idle && (len(b.stale) == 0 || time.Since(b.slow) < slowStories) {
		return 0, nil
	}
	tx, err := b.writer.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	w := &follower{Model: b, ctx: context.WithoutCancel(ctx), tx: tx, touched: map[uint32]bool{}, counts: counts{}}
	for i := range events {
		if err := w.take(&events[i]); err != nil {
			return 0, fmt.Errorf("event %d: %w", events[i].number, err)
		}
	}
	if err := errors.Join(w.counts.write(w.exec), w.stories()); err != nil {
		return 0, err
	}
	if !idle {
		if err := setMark(ctx, tx, events[len(events)-1].number); err != nil {
			return 0, err
		}
	}
	return len(events), tx.Commit()
}

// take counts one event, and marks the stories to count again.
func (w *follower) take(s *seen) error {
	clusters := []uint32{s.cluster, s.wasCluster, s.wasOfCluster, w.cat.Cluster(s.ordinal)}
	if s.cause == verdict.CauseIngest && s.verdict != verdict.Duplicate {
		clusters = nil // the item is alone in its own cluster
	}
	if s.cause != verdict.CauseIngest {
		// These events are rare and may move whole clusters: every story that any
		// version of the item was ever in is counted again.
		var err error
		if clusters, err = w.everIn(s.id, clusters); err != nil {
			return err
		}
	}
	for _, c := range clusters {
		if c != 0 {
			w.touched[c], w.touched[standing(w.cat, c)] = true, true
		}
	}
	if s.cause == verdict.CauseRevision {
		if err := w.superseded(s); err != nil {
			return err
		}
	}
	if s.previous == verdict.Duplicate {
		if err := w.exec(`DELETE FROM rejected WHERE ordinal = ?`, s.ordinal); err != nil {
			return err
		}
	}
	if s.previous == verdict.Suspect && s.verdict != verdict.Suspect {
		if err := w.exec(`DELETE FROM queue WHERE ordinal = ?`, s.ordinal); err != nil {
			return err
		}
	}
	switch s.verdict {
	case verdict.Suspect:
		if err := w.exec(`INSERT OR REPLACE INTO queue VALUES (?,?,?,?)`, s.ordinal, s.likely(), index.FamilyOf(s.series, s.of, s.ofSeries), s.source); err != nil {
			return err
		}
	case verdict.Duplicate:
		if s.rule != verdict.ByEditor && s.rule != verdict.ByPreference { // these rejections are not detection's
			day := w.day(s.arrived)
			if err := w.exec(`INSERT OR REPLACE INTO rejected VALUES (?,?,?,?)`, s.ordinal, day, 1-s.likely(), lot(s.ordinal)); err != nil {
				return err
			}
		}
	}
	if s.arrives() {
		w.count(s)
	}
	if s.copied() {
		w.countPair(s)
	}
	if s.rule == verdict.ByLicence && s.of != 0 {
		return w.exec(`INSERT OR IGNORE INTO licensed VALUES (?,?)`, s.of, s.ordinal)
	}
	return nil
}

// everIn appends the clusters that the versions of an id have been in.
func (w *follower) everIn(id string, clusters []uint32) ([]uint32, error) {
	for _, ordinal := range w.cat.Versions(id) {
		err := sqlite.Each(w.ctx, w.cat.Tables(), `SELECT cluster FROM items WHERE ordinal = ? UNION SELECT cluster FROM events WHERE ordinal = ? AND cause > 2`, func(r *sql.Rows) error {
			var c uint32
			err := r.Scan(&c)
			clusters = append(clusters, c, w.cat.Cluster(ordinal))
			return err
		}, ordinal, ordinal)
		if err != nil {
			return nil, err
		}
	}
	return clusters, nil
}

// superseded removes the earlier versions of a revised item from the queues, and
// marks their stories, which lost a member without an event of their own.
func (w *follower) superseded(s *seen) error {
	for _, ordinal := range w.cat.Versions(s.id) {
		if ordinal >= s.ordinal {
			continue
		}
		w.touched[standing(w.cat, w.cat.Cluster(ordinal))] = true
		for _, table := range []string{"queue", "rejected"} {
			if err := w.exec(`DELETE FROM `+table+` WHERE ordinal = ?`, ordinal); err != nil {
				return err
			}
		}
	}
	return nil
}
