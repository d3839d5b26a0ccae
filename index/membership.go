package index

import (
	"database/sql"
	"errors"
	"fmt"

	"jianguo/index/resident"
)

// clusterRow is a row of clusters. A cluster without a row consists of its founder
// alone.
type clusterRow struct {
	id, lead, merged uint32
	size             int64
	first, last      int64 // milliseconds since 1970, as all times of the catalogue
}

// cluster reads the row of a cluster, or derives it from the founder.
func (b *batch) cluster(id uint32) (clusterRow, error) {
	c := clusterRow{id: id}
	err := b.x.w.clusterOf.QueryRowContext(b.ctx, id).Scan(&c.lead, &c.merged, &c.size, &c.first, &c.last)
	if errors.Is(err, sql.ErrNoRows) {
		c = clusterRow{id: id, lead: id, size: 1}
		err = b.x.w.arrivedAt.QueryRowContext(b.ctx, id).Scan(&c.first)
		c.last = c.first
	}
	if err != nil {
		return c, fmt.Errorf("cluster %d: %w", id, err)
	}
	return c, nil
}

func (b *batch) setCluster(c clusterRow) error {
	x := b.x
	if err := b.revive(c.id); err != nil {
		return err
	}
	if _, err := x.w.setClusterRow.ExecContext(b.ctx, c.id, c.lead, c.merged, c.size, c.first, c.last); err != nil {
		return fmt.Errorf("cluster %d: %w", c.id, err)
	}
	lead, merged := x.clusters.Own(c.id)
	x.clusters.Set(c.id, c.lead, c.merged)
	b.undo = append(b.undo, func() { x.clusters.Set(c.id, lead, merged) })
	return nil
}

// join records that ordinal is a copy in a cluster.
func (b *batch) join(id, ordinal uint32, at int64) error {
	c, err := b.cluster(id)
	if err != nil {
		return err
	}
	if c.size == 1 && c.lead != 0 {
		if err := b.member(id, c.lead); err != nil {
			return err
		}
	}
	if err := b.member(id, ordinal); err != nil {
		return err
	}
	c.size++
	c.last = max(c.last, at)
	x := b.x
	was := x.rows.Touched(id)
	x.rows.Touch(id, max(was, uint32(at/1000)))
	b.undo = append(b.undo, func() { x.rows.Touch(id, was) })
	return b.setCluster(c)
}

func (b *batch) member(cluster, ordinal uint32) error {
	if _, err := b.x.w.addMember.ExecContext(b.ctx, cluster, ordinal); err != nil {
		return fmt.Errorf("member %d of cluster %d: %w", ordinal, cluster, err)
	}
	return nil
}

// drop removes a member's row and reports whether there was one.
func (b *batch) drop(cluster, ordinal uint32) (bool, error) {
	res, err := b.x.w.dropMember.ExecContext(b.ctx, cluster, ordinal)
	if err != nil {
		return false, fmt.Errorf("member %d of cluster %d: %w", ordinal, cluster, err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// leave records that ordinal is no longer a member of a cluster.
func (b *batch) leave(id, ordinal uint32) error {
	dropped, err := b.drop(id, ordinal)
	if err != nil || !dropped {
		return err
	}
	c, err := b.cluster(id)
	if err != nil {
		return err
	}
	c.size--
	return b.setCluster(c)
}

// setLead gives a cluster another lead.
func (b *batch) setLead(id, lead uint32) error {
	c, err := b.cluster(id)
	if err != nil {
		return err
	}
	c.lead = lead
	return b.setCluster(c)
}

// vacate removes the lead `from` from a cluster, which then has no lead.
func (b *batch) vacate(id, from uint32) error {
	dropped, err := b.drop(id, from)
	if err != nil {
		return err
	}
	c, err := b.cluster(id)
	if err != nil {
		return err
	}
	c.lead = 0
	if dropped {
		c.size--
	} else {
		c.size = 0 // it was alone, and had no row
	}
	return b.setCluster(c)
}

// succeed replaces a lead with its new version.
func (b *batch) succeed(id, from, to uint32) error {
	c, err := b.cluster(id)
	if err != nil {
		return err
	}
	dropped, err := b.drop(id, from)
	if err != nil {
		return err
	}
	if dropped {
		if err := b.member(id, to); err != nil {
			return err
		}
	}
	c.lead = to
	return b.setCluster(c)
}

// promote makes the oldest copy of a cluster its lead after the lead `from` has
// left. The text of `from` stays an exemplar: it is an old lead of a living
// cluster. A cluster without copies then has no lead, and its postings match
// nothing.
func (b *batch) promote(id, from uint32, at int64) error {
	if err := b.vacate(id, from); err != nil {
		return err
	}
	heir, err := b.oldestCopy(id)
	if err != nil || heir == nil {
		return err
	}
	if err := b.setLead(id, heir.ordinal); err != nil {
		return err
	}
	next := heir.state
	next.verdict, next.rule, next.of = Unique, NoRule, 0
	previous := heir.state.verdict
	if err := b.setState(heir, heir.flags|resident.Exemplar, next); err != nil {
		return err
	}
	_, err = b.emit(eventRow{at: at, verdict: Unique, previous: previous, cause: CausePromotion, cluster: id, revision: next.revision}, &heir.itemRow)
	return err
}

// oldestCopy returns the copy of a cluster that arrived first, or nil.
func (b *batch) oldestCopy(id uint32) (*version, error) {
	rows, err := b.x.w.oldestCopies.QueryContext(b.ctx, id)
	if err != nil {
		return nil, fmt.Errorf("members of cluster %d: %w", id, err)
	}
	var ordinals []uint32
	for rows.Next() {
		var o uint32
		if err := rows.Scan(&o); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		ordinals = append(ordinals, o)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("members of cluster %d: %w", id, err)
	}
	for _, o := range ordinals {
		if f := b.x.rows.Flags(o); f.Verdict() == Duplicate && f&(resident.Superseded|resident.Blank) == 0 {
			return b.version(o)
		}
	}
	return nil, nil
}
