package index

import (
	"database/sql"
	"errors"

	"jianguo/index/resident"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// clusterRow is a row of clusters. A cluster without a row consists of its founder
// alone.
type clusterRow struct {
	id, lead, merged uint32
	follows          uint32 // the telling that it comes after in its story; 0: it is the first
	adds             int    // characters, to that one, or stories.Unknown; 0: it tells the same
	size             int64
	first, last      int64 // milliseconds since 1970, as all times of the catalogue
}

// cluster reads the row of a cluster, or derives it from the founder.
func (b *batch) cluster(id uint32) clusterRow {
	c := clusterRow{id: id}
	err := b.query(`SELECT lead, coalesce(merged_into, 0), coalesce(follows, 0), adds, size, first_at, last_at
		FROM clusters WHERE id = ?`, id).
		Scan(&c.lead, &c.merged, &c.follows, &c.adds, &c.size, &c.first, &c.last)
	if errors.Is(err, sql.ErrNoRows) {
		c = clusterRow{id: id, lead: id, size: 1}
		err = b.query(`SELECT arrived_at FROM items WHERE ordinal = ?`, id).Scan(&c.first)
		c.last = c.first
	}
	must.Dof(err, "cluster %d", id)
	return c
}

func (b *batch) setCluster(c clusterRow) {
	b.repost(c.id)
	b.exec(`INSERT OR REPLACE INTO clusters (id, lead, merged_into, follows, adds, size, first_at, last_at, sum)
		VALUES (?,?,?,?,?,?,?,?,?)`,
		sqlite.WithSum(c.id, c.lead, ordinalOrNull(c.merged), ordinalOrNull(c.follows), c.adds, c.size, c.first,
			c.last), "cluster %d", c.id)
	b.rollback.saveCluster(&b.x.clusters, c.id)
	b.x.clusters.Set(c.id, c.lead, c.merged)
}

// addCopy records that ordinal is a copy in a cluster.
func (b *batch) addCopy(id, ordinal uint32, at int64) {
	c := b.cluster(id)
	if c.size == 1 { // the lead alone, which has no row, or a copy that it has left behind
		b.exec(`INSERT INTO members SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM members WHERE cluster = ?1)`,
			[]any{id, c.lead}, "lead of cluster %d", id)
	}
	b.insertMember(id, ordinal)
	c.size++
	c.last = max(c.last, at)
	b.rollback.saveRow(b.x.tables.Rows, id)
	rows := b.x.tables.Rows
	rows.Touch(id, max(rows.Touched(id), uint32(at/1000)))
	b.setCluster(c)
}

func (b *batch) insertMember(cluster, ordinal uint32) {
	b.exec(`INSERT OR IGNORE INTO members (cluster, ordinal) VALUES (?,?)`, []any{cluster, ordinal},
		"member %d of cluster %d", ordinal, cluster)
}

// deleteMember removes a member's row and reports whether there was one.
func (b *batch) deleteMember(cluster, ordinal uint32) bool {
	res := b.exec(`DELETE FROM members WHERE cluster = ? AND ordinal = ?`, []any{cluster, ordinal},
		"member %d of cluster %d", ordinal, cluster)
	return must.Get(res.RowsAffected()) > 0
}

// removeMember records that ordinal is no longer a member of a cluster.
func (b *batch) removeMember(id, ordinal uint32) {
	dropped := b.deleteMember(id, ordinal)
	if c := b.cluster(id); dropped || c.size == 1 && c.lead == ordinal { // alone, it had no row
		c.size--
		b.setCluster(c)
	}
}

// setLead gives a cluster another lead.
func (b *batch) setLead(id, lead uint32) {
	c := b.cluster(id)
	c.lead = lead
	b.setCluster(c)
}

// removeLead removes the lead `from` from a cluster, which then has no lead.
func (b *batch) removeLead(id, from uint32) {
	dropped := b.deleteMember(id, from)
	c := b.cluster(id)
	c.lead = 0
	if dropped {
		c.size--
	} else {
		c.size = 0 // it was alone, and had no row
	}
	b.setCluster(c)
}

func (b *batch) replaceLead(id, from, to uint32) {
	c := b.cluster(id)
	if b.deleteMember(id, from) {
		b.insertMember(id, to)
	}
	c.lead = to
	b.setCluster(c)
}

// promote makes the oldest copy of a cluster its lead after the lead `from` has
// left. The text of `from` stays an exemplar: it is an old lead of a living
// cluster. A cluster without copies then has no lead, and its postings match
// nothing.
func (b *batch) promote(id, from uint32, at int64) {
	b.removeLead(id, from)
	heir := b.oldestCopy(id)
	if heir == nil {
		return
	}
	next := heir.current
	next.verdict, next.rule, next.of, next.cluster = Unique, NoRule, 0, id
	if heir.current.cluster != id {
		b.removeMember(heir.current.cluster, heir.ordinal)
		b.addCopy(id, heir.ordinal, heir.arrivedAt)
	}
	b.setLead(id, heir.ordinal)
	previous := heir.current.verdict
	b.setCurrent(heir, heir.flags|resident.Exemplar, next)
	b.emit(eventRow{at: at, verdict: Unique, previous: previous, cause: CausePromotion, cluster: id,
		revision: next.revision}, &heir.itemRow)
}

// oldestCopy returns the copy of a cluster, or of one that was merged into it, that arrived first, or nil.
func (b *batch) oldestCopy(id uint32) *version {
	ordinals, err := sqlite.Column[uint32](b.ctx, b.x.conn, `SELECT ordinal FROM members
		WHERE cluster IN (SELECT value FROM json_each(?)) ORDER BY ordinal`, sqlite.List(b.x.clusters.Behind(id)))
	must.Dof(err, "members of cluster %d", id)
	for _, o := range ordinals {
		if f := b.x.tables.Rows.Flags(o); f.Verdict() == Duplicate && f&(resident.Superseded|resident.Blank) == 0 {
			return b.version(o)
		}
	}
	return nil
}
