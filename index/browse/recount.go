package browse

import (
	"database/sql"
	"fmt"
	"time"

	"jianguo/index/sqlite"
	"jianguo/index/verdict"
)

// Stories of more than largeStory members are counted again every slowStories,
// not with every batch.
const (
	largeStory  = 1000
	slowStories = 5 * time.Second
)

// stories counts the touched stories again.
func (w *follower) stories() error {
	now := time.Now()
	late := now.Sub(w.slow) >= slowStories
	for cluster := range w.touched {
		var size int
		// The size is a hint; a story that is not known yet is small.
		err := w.tx.QueryRowContext(w.ctx, `SELECT coalesce((SELECT size FROM stories WHERE cluster = ?), 0)`, cluster).Scan(&size)
		if err != nil {
			return err
		}
		if size > largeStory && !late {
			w.stale[cluster] = true
			continue
		}
		if err := w.story(cluster); err != nil {
			return fmt.Errorf("story %d: %w", cluster, err)
		}
	}
	if !late {
		return nil
	}
	for cluster := range w.stale {
		if !w.touched[cluster] {
			if err := w.story(cluster); err != nil {
				return fmt.Errorf("story %d: %w", cluster, err)
			}
		}
	}
	clear(w.stale)
	w.slow = now
	return nil
}

// story counts one story again from the catalogue.
func (w *follower) story(cluster uint32) error {
	x := w.cat
	_, lead := x.Lead(cluster)
	s := story{lead: lead, sources: map[int64]int{}, recent: map[int64]int64{}}
	if standing(x, cluster) == cluster {
		from, args := x.Members(cluster)
		err := sqlite.Each(w.ctx, x.Tables(), `SELECT i.ordinal, coalesce(c.rule, i.rule), coalesce(i.source, 0), i.published_at, i.arrived_at FROM `+from+
			` JOIN items i ON i.ordinal = m.ordinal LEFT JOIN current c ON c.ordinal = i.ordinal`, func(r *sql.Rows) error {
			var ordinal uint32
			var rule verdict.Rule
			var source, arrived int64
			var published sql.NullInt64
			if err := r.Scan(&ordinal, &rule, &source, &published, &arrived); err != nil {
				return err
			}
			s.add(ordinal, rule, source, published, arrived)
			return nil
		}, args...)
		if err != nil {
			return err
		}
	}
	return w.write(cluster, &s)
}

// write replaces the stored story by the counted one.
func (w *follower) write(cluster uint32, s *story) error {
	if err := w.exec(`DELETE FROM story_sources WHERE cluster = ?`, cluster); err != nil {
		return err
	}
	var had uint32
	if err := w.tx.QueryRowContext(w.ctx, `SELECT coalesce((SELECT rules FROM stories WHERE cluster = ?), 0)`, cluster).Scan(&had); err != nil {
		return err
	}
	has := s.rules
	if s.size < 2 {
		has = 0
	}
	for _, rule := range ruleList(had &^ has) {
		if err := w.exec(`DELETE FROM story_rules WHERE rule = ? AND cluster = ?`, rule, cluster); err != nil {
			return err
		}
	}
	for _, rule := range ruleList(has &^ had) {
		if err := w.exec(`INSERT INTO story_rules VALUES (?,?)`, rule, cluster); err != nil {
			return err
		}
	}
	if s.size < 2 {
		return w.exec(`DELETE FROM stories WHERE cluster = ?`, cluster)
	}
	for source, n := range s.sources {
		if err := w.exec(`INSERT INTO story_sources VALUES (?,?,?)`, source, cluster, n); err != nil {
			return err
		}
	}
	return w.exec(`INSERT OR REPLACE INTO stories VALUES (?,?,?,?,?,?,?,?,?,?,?)`,
		cluster, s.lead, s.original, s.size, len(s.sources), s.rules, s.first, s.last, s.heat, s.pull(), s.spark())
}
