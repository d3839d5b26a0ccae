package index

import (
	"jianguo/index/resident"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// release: a duplicate leads a cluster of its own, in a story of its own; a suspect is accepted.
func (d *decision) release() {
	v := d.requested()
	after := editorState(v, Unique, 0)
	switch v.current.verdict {
	case Suspect:
		d.changeItem(v, after)
		return
	case Duplicate:
	default:
		d.conflict("item %q is %s: only duplicates and suspects can be released", v.id, v.current.verdict)
	}
	after.Cluster = d.freeCluster(v)
	if v.flags&resident.Blank == 0 {
		after.Flags |= resident.Exemplar
	}
	if _, merged := d.x.clusters.Own(after.Cluster); merged != 0 {
		// It led a cluster that was merged away: that one is free again.
		d.changeCluster(after.Cluster, state{Lead: v.ordinal})
	}
	d.changeItem(v, after)
	d.leadCluster(after.Cluster, v)
}

// leadCluster makes an item the lead of a cluster that it has to itself, or shares
// with the items that joined it there before.
func (d *decision) leadCluster(id uint32, v *version) {
	c := d.batch.cluster(id)
	if c.lead != v.ordinal {
		c = clusterRow{id: id, lead: v.ordinal, first: v.arrivedAt, last: v.arrivedAt}
	}
	var others int64
	must.Dof(d.query(`SELECT count(*) FROM members WHERE cluster = ? AND ordinal != ?`, id, v.ordinal).Scan(&others),
		"members of cluster %d", id)
	if c.size = 1 + others; others > 0 {
		d.insertMember(id, v.ordinal)
	}
	d.setCluster(c)
}

// freeCluster returns an id for a cluster that a duplicate is to lead: its own ordinal, or that of a cluster which it
// led before that was merged away. If others are in the cluster of its ordinal (it founded that, and another item leads
// it now), it is the ordinal of a copy, which founded nothing. An id only names a cluster, and no cluster's id changes.
func (d *decision) freeCluster(v *version) uint32 {
	behind := d.x.clusters.Behind(d.x.clusters.Resolve(v.current.cluster))
	for _, id := range append([]uint32{v.ordinal}, behind...) {
		if lead, merged := d.x.clusters.Own(id); merged != 0 && lead == v.ordinal {
			return id
		}
	}
	var taken bool
	must.Do(d.query(`SELECT EXISTS (SELECT 1 FROM clusters WHERE id = ?)`, v.ordinal).Scan(&taken))
	if !taken && d.x.tables.Rows.Cluster(v.ordinal) != v.ordinal {
		return v.ordinal
	}
	for _, cluster := range behind {
		for _, copied := range must.Get(sqlite.Column[uint32](d.ctx, d.x.conn, `SELECT m.ordinal FROM members m
			WHERE m.cluster = ? AND m.ordinal != m.cluster
			AND NOT EXISTS (SELECT 1 FROM clusters k WHERE k.id = m.ordinal) ORDER BY m.ordinal LIMIT 100`, cluster)) {
			if d.x.tables.Rows.Cluster(copied) != copied {
				return copied
			}
		}
	}
	d.conflict("item %q founded cluster %d, which another item leads, and no copy's number is free: "+
		"make it the lead again, then release the other", v.id, v.ordinal)
	return 0
}
