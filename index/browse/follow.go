package browse

import (
	"context"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// listsBatch is how many events one transaction takes in.
const listsBatch = 1024

// listEvents takes one batch of events into the lists and reports whether there may be
// more. It panics on errors (must).
func (b *Model) listEvents(ctx context.Context) (more bool) {
	last := b.mark(ctx, listsMark)
	events := must.Get(sqlite.All(ctx, b.cat.Tables(), (*listedEvent).columns, listedQuery, last, listsBatch))
	now := time.Now()
	withLarge := now.Sub(b.largeCounted) >= slowClusters
	if len(events) == 0 && !b.largeCounted.IsZero() && (len(b.stale) == 0 || !withLarge) {
		return false
	}
	b.update(ctx, func(tx *transaction) {
		w := &follower{Model: b, transaction: tx, touched: map[uint32]bool{}}
		for i := range events {
			must.Dof(must.Catch(func() { w.take(&events[i]) }), "event %d", events[i].number)
		}
		w.countClusters(withLarge)
		if n := len(events); n > 0 {
			tx.setMark(listsMark, events[n-1].number)
		}
	})
	if withLarge {
		clear(b.stale)
		b.largeCounted = now
	}
	return len(events) == listsBatch
}

// take counts one event, and marks the clusters to count again.
func (w *follower) take(s *listedEvent) {
	clusters := []uint32{s.cluster, s.wasCluster, s.wasOfCluster, w.cat.RecordedCluster(s.ordinal)}
	if s.cause == verdict.CauseIngest && s.verdict != verdict.Duplicate {
		clusters = nil // the item is alone in its own cluster
	}
	if s.cause != verdict.CauseIngest {
		// These events are rare and may move whole clusters: every cluster that any
		// version of the item was ever in is counted again.
		clusters = w.everIn(s.id, clusters)
	}
	for _, c := range clusters {
		if resolved, _ := w.cat.Lead(c); c != 0 {
			w.touched[c], w.touched[resolved] = true, true
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
		w.exec(`INSERT OR REPLACE INTO queue VALUES (?,?,?,?)`, s.ordinal, s.repeats(),
			index.FamilyOf(s.series, s.of, s.ofSeries), s.source)
	case s.verdict == verdict.Duplicate && s.rule != verdict.ByEditor && s.rule != verdict.ByPreference:
		// The others are not detection's.
		w.exec(`INSERT OR REPLACE INTO rejected VALUES (?,?,?,?)`, s.ordinal, dayOf(s.arrived),
			lot(s.ordinal), s.early())
	}
	if s.arrives() {
		w.count(s)
	}
	if s.copied() {
		w.countPair(s)
	}
}

// everIn appends the clusters that the versions of an id have been in.
func (w *follower) everIn(id string, clusters []uint32) []uint32 {
	for _, ordinal := range w.cat.Versions(id) {
		was := must.Get(sqlite.Column[uint32](w.ctx, w.cat.Tables(), `SELECT cluster FROM items WHERE ordinal = ?1
			UNION SELECT cluster FROM events WHERE ordinal = ?1 AND cause > 2`, ordinal))
		clusters = append(append(clusters, w.cat.RecordedCluster(ordinal)), was...)
	}
	return clusters
}

// superseded removes the earlier versions of a revised item from the queues, and
// marks their clusters, which lost a member without an event of their own.
func (w *follower) superseded(s *listedEvent) {
	for _, ordinal := range w.cat.Versions(s.id) {
		if ordinal < s.ordinal {
			w.touched[w.cat.ClusterOf(ordinal)] = true
			w.exec(`DELETE FROM queue WHERE ordinal = ?`, ordinal)
			w.exec(`DELETE FROM rejected WHERE ordinal = ?`, ordinal)
		}
	}
}

// count adds the arrival of a version to what is counted.
func (w *follower) count(s *listedEvent) {
	duplicate, suspect := s.verdict == verdict.Duplicate, s.verdict == verdict.Suspect
	w.exec(`INSERT INTO hours VALUES (?1,1,?2,?3) ON CONFLICT (hour)
		DO UPDATE SET items = items + 1, duplicates = duplicates + ?2, suspects = suspects + ?3`,
		s.arrived/3_600_000, duplicate, suspect)
	if s.source != 0 {
		w.exec(`INSERT INTO source_days VALUES (?1,?2,1,?3,?4) ON CONFLICT (source, day)
			DO UPDATE SET items = items + 1, duplicates = duplicates + ?3, suspects = suspects + ?4`,
			s.source, dayOf(s.arrived), duplicate, suspect)
	}
}

// countPair adds a copy to the list of copies and to the counts of pairs of sources. The origin
// is the source that published first, not the one that delivered first.
func (w *follower) countPair(s *listedEvent) {
	origin, copier := s.ofSource, s.source
	if s.early() {
		origin, copier = copier, origin
	}
	w.exec(`INSERT OR REPLACE INTO copies VALUES (?,?,?,?)`, s.ordinal, s.of, origin, copier)
	if s.source == 0 || s.ofSource == 0 {
		return
	}
	w.exec(`INSERT INTO pairs VALUES (?,?,?,1) ON CONFLICT (origin, copier, day) DO UPDATE SET n = n + 1`,
		origin, copier, dayOf(s.arrived))
}

// credible is index.Credible, in milliseconds.
func credible(published, arrived int64) bool {
	at := time.UnixMilli(published)
	return index.Credible(&at, time.UnixMilli(arrived))
}

// Clusters of more than largeCluster members are counted again every slowClusters,
// not with every batch; and first of all, since a process before may have left some to wait. So are those with a copy
// from the future.
const (
	largeCluster = 1000
	slowClusters = 5 * time.Second
)

// countClusters counts the touched clusters again, and the stale ones if it is time.
func (w *follower) countClusters(withLarge bool) {
	for cluster := range w.touched {
		// The size is a hint; a cluster that is not known yet is small.
		if w.number(`SELECT coalesce((SELECT size FROM stories WHERE cluster = ?), 0)`, cluster) > largeCluster {
			w.stale[cluster] = true
		} else {
			w.countCluster(cluster)
		}
	}
	if w.largeCounted.IsZero() {
		for _, cluster := range must.Get(sqlite.Column[uint32](w.ctx, w, `SELECT cluster FROM stories
			WHERE size > ? OR last_at > ?`, largeCluster, time.Now().UnixMilli())) {
			w.stale[cluster] = true
		}
	}
	if withLarge {
		for cluster := range w.stale {
			w.countCluster(cluster)
		}
	}
}

// countCluster counts one cluster again from the catalogue.
func (w *follower) countCluster(cluster uint32) {
	resolved, lead := w.cat.Lead(cluster)
	s := newCounted(lead)
	if resolved == cluster {
		must.Dof(must.Catch(func() { w.members(w.ctx, cluster, -1, s.add) }), "story %d", cluster)
	}
	w.write(cluster, s)
}

// write replaces the stored cluster by the counted one.
func (w *follower) write(cluster uint32, s *counted) {
	w.exec(`DELETE FROM story_sources WHERE cluster = ?`, cluster)
	if s.size < 2 {
		w.exec(`DELETE FROM stories WHERE cluster = ?`, cluster)
		return
	}
	sources := s.sources()
	for _, source := range sources {
		w.exec(`INSERT INTO story_sources VALUES (?,?)`, source, cluster)
	}
	w.exec(`INSERT OR REPLACE INTO stories VALUES (?,?,?,?,?,?,?,?,?)`,
		cluster, s.lead, s.presumed(), s.size, len(sources), s.first, s.last, s.heat, s.pull())
}
