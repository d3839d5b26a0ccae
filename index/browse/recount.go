package browse

import (
	"time"

	"jianguo/internal/must"
)

// Stories of more than largeStory members are counted again every slowStories,
// not with every batch.
const (
	largeStory  = 1000
	slowStories = 5 * time.Second
)

// stories counts the touched stories again.
func (w *follower) stories() {
	now := time.Now()
	late := now.Sub(w.slow) >= slowStories
	for cluster := range w.touched {
		// The size is a hint; a story that is not known yet is small.
		size := w.number(`SELECT coalesce((SELECT size FROM stories WHERE cluster = ?), 0)`, cluster)
		if size > largeStory && !late {
			w.stale[cluster] = true
			continue
		}
		w.story(cluster)
	}
	if !late {
		return
	}
	for cluster := range w.stale {
		if !w.touched[cluster] {
			w.story(cluster)
		}
	}
	clear(w.stale)
	w.slow = now
}

// story counts one story again from the catalogue.
func (w *follower) story(cluster uint32) {
	stands, lead := w.cat.Lead(cluster)
	s := newStory(lead)
	if stands == cluster {
		err := w.members(w.ctx, cluster, -1, s.add)
		must.Dof(err, "story %d", cluster)
	}
	w.write(cluster, s)
}

// write replaces the stored story by the counted one.
func (w *follower) write(cluster uint32, s *story) {
	w.exec(`DELETE FROM story_sources WHERE cluster = ?`, cluster)
	had, has := w.number(`SELECT coalesce((SELECT rules FROM stories WHERE cluster = ?), 0)`, cluster), s.rules
	if s.size < 2 {
		has = 0
	}
	for _, rule := range ruleList(had &^ has) {
		w.exec(`DELETE FROM story_rules WHERE rule = ? AND cluster = ?`, rule, cluster)
	}
	for _, rule := range ruleList(has &^ had) {
		w.exec(`INSERT INTO story_rules VALUES (?,?)`, rule, cluster)
	}
	if s.size < 2 {
		w.exec(`DELETE FROM stories WHERE cluster = ?`, cluster)
		return
	}
	for source, n := range s.sources {
		w.exec(`INSERT INTO story_sources VALUES (?,?,?)`, source, cluster, n)
	}
	w.exec(`INSERT OR REPLACE INTO stories VALUES (?,?,?,?,?,?,?,?,?,?,?)`,
		cluster, s.lead, s.presumed(), s.size, len(s.sources), s.rules, s.first, s.last, s.heat, s.pull(), s.spark())
}
