package browse

import (
	"context"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/must"
)

// listsBatch is how many events one transaction takes in.
const listsBatch = 1024

// step takes in one batch of events and returns how many it had.
func (b *Model) step(ctx context.Context) int {
	mark := b.mark(ctx)
	events := read(ctx, b.cat.Tables(), "events", seenQuery, scanSeen, mark, listsBatch)
	if n := len(events); n > 0 {
		mark = events[n-1].number
	} else if len(b.stale) == 0 || time.Since(b.slow) < slowStories {
		return 0
	}
	b.update(ctx, mark, func(tx *transaction) {
		w := &follower{Model: b, transaction: tx, touched: map[uint32]bool{}}
		for i := range events {
			must.Dof(must.Catch(func() { w.take(&events[i]) }), "event %d", events[i].number)
		}
		w.stories()
	})
	return len(events)
}

// take counts one event, and marks the stories to count again.
func (w *follower) take(s *seen) {
	clusters := []uint32{s.cluster, s.wasCluster, s.wasOfCluster, w.cat.Cluster(s.ordinal)}
	if s.cause == verdict.CauseIngest && s.verdict != verdict.Duplicate {
		clusters = nil // the item is alone in its own cluster
	}
	if s.cause != verdict.CauseIngest {
		// These events are rare and may move whole clusters: every story that any
		// version of the item was ever in is counted again.
		clusters = w.everIn(s.id, clusters)
	}
	for _, c := range clusters {
		if c != 0 {
			w.touched[c], w.touched[standing(w.cat, c)] = true, true
		}
	}
	if s.cause == verdict.CauseRevision {
		w.superseded(s)
	}
	if s.previous == verdict.Duplicate {
		w.exec(`DELETE FROM rejected WHERE ordinal = ?`, s.ordinal)
	}
	if s.previous == verdict.Suspect && s.verdict != verdict.Suspect {
		w.exec(`DELETE FROM queue WHERE ordinal = ?`, s.ordinal)
	}
	switch {
	case s.verdict == verdict.Suspect:
		w.exec(`INSERT OR REPLACE INTO queue VALUES (?,?,?,?,?,?)`, s.ordinal, s.rank(), index.FamilyOf(s.series, s.of, s.ofSeries), s.source, s.arrived, s.facts().Reason)
	case s.verdict == verdict.Duplicate && s.rule != verdict.ByEditor && s.rule != verdict.ByPreference: // the others are not detection's
		w.exec(`INSERT OR REPLACE INTO rejected VALUES (?,?,?,?)`, s.ordinal, dayOf(s.arrived), 1-s.likely(), lot(s.ordinal))
	}
	if s.arrives() {
		w.count(s)
	}
	if s.copied() {
		w.countPair(s)
	}
	if s.rule == verdict.ByLicence && s.of != 0 {
		w.exec(`INSERT OR IGNORE INTO licensed VALUES (?,?)`, s.of, s.ordinal)
	}
}

// everIn appends the clusters that the versions of an id have been in.
func (w *follower) everIn(id string, clusters []uint32) []uint32 {
	for _, ordinal := range w.cat.Versions(id) {
		clusters = append(clusters, w.cat.Cluster(ordinal))
		clusters = append(clusters, read(w.ctx, w.cat.Tables(), "clusters of an item",
			`SELECT cluster FROM items WHERE ordinal = ?1 UNION SELECT cluster FROM events WHERE ordinal = ?1 AND cause > 2`, number, ordinal)...)
	}
	return clusters
}

// superseded removes the earlier versions of a revised item from the queues, and
// marks their stories, which lost a member without an event of their own.
func (w *follower) superseded(s *seen) {
	for _, ordinal := range w.cat.Versions(s.id) {
		if ordinal < s.ordinal {
			w.touched[standing(w.cat, w.cat.Cluster(ordinal))] = true
			w.exec(`DELETE FROM queue WHERE ordinal = ?`, ordinal)
			w.exec(`DELETE FROM rejected WHERE ordinal = ?`, ordinal)
		}
	}
}
