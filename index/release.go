package index

import (
	"database/sql"
	"errors"
	"fmt"

	"jianguo/index/resident"
)

// release: a duplicate leads a cluster of its own; a suspect is accepted.
func (d *decision) release() error {
	v, err := d.current()
	if err != nil {
		return err
	}
	after := cellOf(v)
	after.Verdict, after.Rule, after.Of = Unique, ByEditor, 0
	after.Flags = after.Flags.With(Unique)
	switch v.state.verdict {
	case Suspect:
		return d.change(v, after)
	case Duplicate:
	default:
		return d.conflict(fmt.Sprintf("item %q is %s: only duplicates and suspects can be released", v.id, v.state.verdict))
	}
	if after.Cluster, err = d.vacant(v); err != nil {
		return err
	}
	if v.flags&resident.Blank == 0 {
		after.Flags |= resident.Exemplar
	}
	if _, merged := d.x.clusters.Own(after.Cluster); merged != 0 {
		// It led a cluster that was merged away: that one is free again.
		if err := d.direct(after.Cluster, v.ordinal, 0); err != nil {
			return err
		}
	}
	if err := d.change(v, after); err != nil {
		return err
	}
	return d.settle(after.Cluster, v)
}

// settle makes an item the lead of a cluster that it has to itself, or shares
// with those who joined it there before.
func (d *decision) settle(id uint32, v *version) error {
	c, err := d.batch.cluster(id)
	if err != nil {
		return err
	}
	if c.lead != v.ordinal {
		c = clusterRow{id: id, lead: v.ordinal, first: v.arrivedAt, last: v.arrivedAt}
	}
	var others int64
	if err := d.x.w.countMembers.QueryRowContext(d.ctx, id).Scan(&others); err != nil {
		return fmt.Errorf("members of cluster %d: %w", id, err)
	}
	c.size = 1
	if others > 0 {
		if err := d.member(id, v.ordinal); err != nil {
			return err
		}
		if err := d.x.w.countMembers.QueryRowContext(d.ctx, id).Scan(&c.size); err != nil {
			return fmt.Errorf("members of cluster %d: %w", id, err)
		}
	}
	return d.setCluster(c)
}

// vacant finds the number of a cluster for a duplicate to lead. As a rule it is
// its own ordinal, or that of a cluster which it led before that was merged
// away. Where others live in the cluster that bears its ordinal (it founded the
// story, and another leads it now), it takes the number of a copy of the same
// story: a copy has founded nothing, so that its number was never given out. A
// number says no more than which cluster it is, and nobody's changes.
func (d *decision) vacant(v *version) (uint32, error) {
	behind := d.x.clusters.Behind(d.x.clusters.Resolve(v.state.cluster))
	for _, id := range append([]uint32{v.ordinal}, behind...) {
		if lead, merged := d.x.clusters.Own(id); merged != 0 && lead == v.ordinal {
			return id, nil
		}
	}
	if free, err := d.unused(v.ordinal); free || err != nil {
		return v.ordinal, err
	}
	for _, cluster := range behind {
		var found uint32
		err := each(d.ctx, d.x.w.conn, `SELECT m.ordinal FROM members m WHERE m.cluster = ? AND m.ordinal != m.cluster
			AND NOT EXISTS (SELECT 1 FROM clusters k WHERE k.id = m.ordinal) ORDER BY m.ordinal LIMIT 100`, func(r *sql.Rows) error {
			var ordinal uint32
			err := r.Scan(&ordinal)
			if found == 0 && d.x.rows.Cluster(ordinal) != ordinal {
				found = ordinal
			}
			return err
		}, cluster)
		if err != nil || found != 0 {
			return found, err
		}
	}
	return 0, d.conflict(fmt.Sprintf("item %q founded cluster %d, which another item leads, and no copy's number is free: make it the lead again, then release the other", v.id, v.ordinal))
}

// unused reports whether no cluster bears a number: the item of that ordinal
// has never been alone in one, or its cluster was taken back.
func (d *decision) unused(id uint32) (bool, error) {
	if d.x.rows.Cluster(id) == id {
		return false, nil
	}
	var one int
	err := d.x.w.conn.QueryRowContext(d.ctx, `SELECT 1 FROM clusters WHERE id = ?`, id).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return false, err
}
