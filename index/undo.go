package index

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// undoing takes a decision back: every item and cluster it changed must be as
// it left them.
func (d *decision) undoing() error {
	if d.req.Undo == 0 {
		return fmt.Errorf("undo: is missing: the number of the decision to take back: %w", ErrQuery)
	}
	if d.req.Undo > math.MaxInt64 {
		return fmt.Errorf("decision %d: %w", d.req.Undo, ErrNotFound)
	}
	var kind, text string
	var item sql.NullInt64
	err := d.x.w.conn.QueryRowContext(d.ctx, `SELECT kind, cluster, item, effects, coalesce((SELECT id FROM items WHERE ordinal = item), '') FROM decisions WHERE number = ?`, d.req.Undo).
		Scan(&kind, &d.cluster, &item, &text, &d.req.Item)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("decision %d: %w", d.req.Undo, ErrNotFound)
	}
	if err != nil {
		return err
	}
	d.item, d.other = uint32(item.Int64), d.req.Undo
	var undone bool
	if err := d.x.w.conn.QueryRowContext(d.ctx, `SELECT count(*) FROM decisions WHERE kind = 'undo' AND other = ?`, d.req.Undo).Scan(&undone); err != nil {
		return err
	}
	if kind == Undo || undone {
		return d.conflict(fmt.Sprintf("decision %d has been taken back, or is itself an undo", d.req.Undo))
	}
	if in := d.req.In; in != 0 && !d.about(in) {
		return d.conflict(fmt.Sprintf("decision %d was about cluster %d, not about %d", d.req.Undo, d.cluster, in))
	}
	var effects []effect
	if err := json.Unmarshal([]byte(text), &effects); err != nil {
		return fmt.Errorf("effects of decision %d: %w", d.req.Undo, err)
	}
	for i := len(effects) - 1; i >= 0; i-- {
		if err := d.restore(&effects[i]); err != nil {
			return err
		}
	}
	return each(d.ctx, d.x.w.conn, `SELECT item FROM decision_items WHERE decision = ? ORDER BY item`, func(r *sql.Rows) error {
		var ordinal uint32
		err := r.Scan(&ordinal)
		d.items = append(d.items, ordinal)
		return err
	}, d.req.Undo)
}

// about reports whether the decision to undo was about a cluster: it was made
// there, merged into it, or left its item there.
func (d *decision) about(cluster uint32) bool {
	cluster = d.x.clusters.Resolve(cluster)
	return cluster == d.x.clusters.Resolve(d.cluster) || d.item != 0 && cluster == d.x.clusters.Resolve(d.x.rows.Cluster(d.item))
}

func (d *decision) restore(e *effect) error {
	if e.ClusterID != 0 {
		lead, merged := d.x.clusters.Own(e.ClusterID)
		if lead == e.Before.Lead && merged == e.Before.Merged {
			return nil // the item that went back took it along
		}
		if lead != e.After.Lead || merged != e.After.Merged {
			return d.conflict(fmt.Sprintf("cluster %d has changed since", e.ClusterID))
		}
		return d.direct(e.ClusterID, e.Before.Lead, e.Before.Merged)
	}
	v, err := d.version(e.Item)
	if err != nil {
		return err
	}
	if cellOf(v) != e.After {
		return d.conflict(fmt.Sprintf("item %q has changed since", v.id))
	}
	if e.After.Cluster != e.Before.Cluster {
		// A released item goes back. Copies that have joined it meanwhile
		// follow it: their cluster is merged into the one it goes back to. One
		// whose lead has left it since takes nobody back: the item might have
		// been promoted in its place.
		to, lead := d.x.clusters.Lead(e.Before.Cluster)
		if lead == 0 && !e.Leadless || to == d.x.clusters.Resolve(e.After.Cluster) {
			return d.conflict(fmt.Sprintf("cluster %d, where item %q came from, has been merged or has no lead any more", e.Before.Cluster, v.id))
		}
		c, err := d.batch.cluster(e.After.Cluster)
		if err != nil {
			return err
		}
		if err := d.direct(c.id, c.lead, e.Before.Cluster); err != nil {
			return err
		}
	}
	return d.change(v, e.Before)
}
