// Package stories reads which clusters of a catalogue tell one story.
//
// A story is a tree of tellings, which are clusters: each but the first follows an earlier one, that its text was
// judged against or that an editor merged it into. Its number is that of the first; the number of each other telling
// leads there, so a story that is joined to another one becomes an alias of it.
package stories

import (
	"context"
	"database/sql"

	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

const (
	// pathQuery yields a cluster, what it follows, and so on up to the first telling. A file that is damaged may have
	// a circle.
	pathQuery = `WITH RECURSIVE path (id, n) AS (VALUES (?1, 0) UNION ALL SELECT c.follows, n + 1
		FROM path JOIN clusters c USING (id) WHERE c.follows IS NOT NULL AND n < 10000) SELECT id FROM path ORDER BY n`
	// toldQuery begins a query of the clusters of the stories ?1, each with its telling and what that adds. One query
	// for each story would take ten times as long.
	toldQuery = `WITH RECURSIVE told (story, id, follows, telling, adds) AS (SELECT value, value, 0, value, 0
		FROM json_each(?1) UNION
		SELECT t.story, c.id, t.id, iif(c.adds = 0, t.telling, c.id), iif(c.adds = 0, t.adds, c.adds)
		FROM told t JOIN clusters c ON c.follows = t.id) `
)

// Path is a cluster, what it follows, and so on up to the first telling of its story, which is its number.
func Path(ctx context.Context, db sqlite.Querier, cluster uint32) ([]uint32, error) {
	path, err := sqlite.Column[uint32](ctx, db, pathQuery, cluster)
	return path, wrap.Err(err, "story of cluster %d", cluster)
}

// Of is the number of the story that a cluster tells.
func Of(ctx context.Context, db sqlite.Querier, cluster uint32) (uint32, error) {
	path, err := Path(ctx, db, cluster)
	if err != nil {
		return 0, err
	}
	return path[len(path)-1], nil
}

// Size is how many clusters a story has.
func Size(ctx context.Context, db sqlite.Querier, story uint32) (n int, err error) {
	query := toldQuery + `SELECT count(*) FROM told`
	err = db.QueryRowContext(ctx, query, sqlite.List([]uint32{story})).Scan(&n)
	return n, err
}

// Split reports whether an editor split a cluster off, and that was not taken back.
func Split(ctx context.Context, db sqlite.Querier, cluster uint32) (bool, error) {
	n, err := sqlite.Column[int](ctx, db, `SELECT 1 FROM decisions d WHERE cluster = ? AND kind = 'split' AND NOT EXISTS
		(SELECT 1 FROM decisions WHERE kind = 'undo' AND other = d.number)`, cluster)
	return len(n) > 0, wrap.Err(err, "decisions about cluster %d", cluster)
}

// Predict returns the story of a cluster once it follows the first of those that it is tied to, and joins the others;
// 0: it begins one, the latest. No story grows beyond most tellings. It panics on errors (must).
func Predict(ctx context.Context, db sqlite.Querier, story, cluster uint32, tied []uint32, most int) uint32 {
	split := func(story uint32) bool { return must.Get(Split(ctx, db, story)) }
	tellings := 1
	if story != 0 {
		tellings = must.Get(Size(ctx, db, story))
	}
	for i, other := range tied {
		later, earlier := story, must.Get(Of(ctx, db, other))
		size := must.Get(Size(ctx, db, earlier))
		if i == 0 && later != cluster || later == earlier || tellings+size > most {
			continue
		}
		if i > 0 && later != 0 && later < earlier {
			later, earlier = earlier, later
		}
		if !split(later) && (i == 0 || !split(earlier)) {
			story, tellings = earlier, tellings+size
		}
	}
	return story
}

// Unknown is what a telling adds to an earlier one if a text of the two is not kept: less than any number.
const Unknown = -1

// Telling is a telling of a story.
type Telling struct {
	Cluster uint32
	Follows uint32 // the telling that it comes after; 0: it is the first
	Adds    int    // characters, to that one, or Unknown; 0: it tells the same
}

// Tellings lists the tellings of a story, by its number, in the order in which they arrived.
func Tellings(ctx context.Context, db sqlite.Querier, story uint32) ([]Telling, error) {
	return sqlite.All(ctx, db, func(t *Telling) []any { return []any{&t.Cluster, &t.Follows, &t.Adds} },
		toldQuery+`SELECT t.id, t.follows, coalesce(c.adds, 0) FROM told t LEFT JOIN clusters c USING (id)
		WHERE c.merged_into IS NULL ORDER BY t.id`, sqlite.List([]uint32{story}))
}

// Item is an item of a story, its telling, and how many characters that adds to an earlier one.
type Item struct {
	ID      string
	Telling uint32
	Adds    int
}

// itemsQuery lists the items of many stories, withdrawn ones too: of each story the leads first. The lead that a merged
// cluster keeps for an undo is among the members, unless its item has a later version.
const itemsQuery = toldQuery + `
	SELECT m.story, i.id, m.telling, m.adds FROM (SELECT story, ordinal, telling, adds, min(copy) AS copy FROM (
		SELECT t.story, coalesce(c.lead, t.id) AS ordinal, t.telling, t.adds, 0 AS copy
			FROM told t LEFT JOIN clusters c USING (id) WHERE c.merged_into IS NULL
		UNION ALL SELECT t.story, m.ordinal, t.telling, t.adds, 1 FROM told t JOIN members m ON m.cluster = t.id
		UNION ALL SELECT t.story, c.ordinal, t.telling, t.adds, 1 FROM told t JOIN current c ON c.cluster = t.id
			AND c.verdict = 4 AND c.flags & ?2 = 0)
		GROUP BY story, ordinal) m JOIN items i ON i.ordinal = m.ordinal ORDER BY m.story, m.copy, m.ordinal`

// Changed are the stories that the events (after, to] may have changed, by their numbers, with at most so many items
// each. A number that names no story any more has none. versions lists the ordinals of an id.
func Changed(ctx context.Context, db *sql.DB, versions func(id string) []uint32, after, to uint64, most int) (
	changed map[uint32][]Item, err error) {
	changed, err = must.Try(func() map[uint32][]Item {
		changed, ordinals := map[uint32][]Item{}, []uint32{}
		for r := range sqlite.Rows(ctx, db, `SELECT DISTINCT e.ordinal, i.id, e.cause FROM events e
			JOIN items i ON i.ordinal = e.ordinal WHERE e.number > ? AND e.number <= ?
			AND NOT (e.cause = 1 AND e.verdict = 1 AND e.of IS NULL AND e.story IS NULL)`, after, to) {
			var ordinal uint32
			var id string
			var cause verdict.Cause
			must.Do(r.Scan(&ordinal, &id, &cause))
			if ordinals = append(ordinals, ordinal); cause == verdict.CauseRevision {
				ordinals = append(ordinals, versions(id)...)
			}
		}
		var firsts []uint32
		for number, story := range sqlite.Pairs[uint32, uint32](ctx, db, `WITH RECURSIVE changed AS
			(SELECT value AS ordinal FROM json_each(?)), told AS (SELECT e.cluster, e.story FROM changed c
				JOIN items i ON i.ordinal = c.ordinal JOIN events e ON e.number = i.event
			UNION SELECT e.cluster, e.story FROM changed c JOIN events e ON e.ordinal = c.ordinal AND e.cause > 2),
			path (number, id) AS (SELECT cluster, cluster FROM told
			UNION SELECT story, story FROM told WHERE story IS NOT NULL
			UNION SELECT p.number, c.follows FROM path p JOIN clusters c USING (id) WHERE c.follows IS NOT NULL)
			SELECT p.number, p.id FROM path p LEFT JOIN clusters c USING (id) WHERE c.follows IS NULL`,
			sqlite.List(ordinals)) {
			changed[number] = nil
			firsts = append(firsts, story)
		}
		for r := range sqlite.Rows(ctx, db, itemsQuery, sqlite.List(firsts), resident.Superseded) {
			var story uint32
			var it Item
			must.Do(r.Scan(&story, &it.ID, &it.Telling, &it.Adds))
			if len(changed[story]) < most {
				changed[story] = append(changed[story], it)
			}
		}
		return changed
	})
	return changed, wrap.Err(err, "stories of the events after %d", after)
}
