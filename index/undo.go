package index

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// undo takes a decision back: every item and cluster it changed must be as
// it left them, whether exempt or not.
func (d *decision) undo() {
	if d.req.Undo == 0 {
		must.Do(verdict.Wrong(ErrQuery, "decision", "is missing: the number of the decision to take back"))
	}
	unknown := verdict.Wrong(ErrNotFound, "decision", "%d is not found", d.req.Undo)
	if d.req.Undo > math.MaxInt64 {
		must.Do(unknown)
	}
	var kind, text string
	var undone bool
	var item sql.NullInt64
	err := d.query(`SELECT kind, cluster, item, effects, coalesce((SELECT id FROM items WHERE ordinal = item), ''),
		EXISTS (SELECT 1 FROM decisions u WHERE u.kind = 'undo' AND u.other = d.number) FROM decisions d
		WHERE number = ?`, d.req.Undo).
		Scan(&kind, &d.cluster, &item, &text, &d.req.Item, &undone)
	if errors.Is(err, sql.ErrNoRows) {
		err = unknown
	}
	must.Do(err)
	d.item, d.other = uint32(item.Int64), d.req.Undo
	if kind == Undo || undone {
		d.conflict("decision %d has been taken back, or is itself an undo", d.req.Undo)
	}
	if in := d.req.In; in != 0 && !d.isAbout(in) {
		d.conflict("decision %d was about cluster %d, not about %d", d.req.Undo, d.cluster, in)
	}
	var effects []effect
	must.Dof(json.Unmarshal([]byte(text), &effects), "effects of decision %d", d.req.Undo)
	for _, e := range slices.Backward(effects) {
		d.undoEffect(&e)
	}
	if kind == Release { // that it was rejected wrongly is taken back too
		d.exec(`INSERT INTO reviews (at, by, ordinal, drawn, finding, reason)
			SELECT ?, ?, ordinal, drawn, ?, '' FROM reviews r WHERE finding = ?
			AND number = (SELECT max(number) FROM reviews WHERE ordinal = r.ordinal)
			AND ordinal IN (SELECT value ->> 'item' FROM json_each(?))`,
			[]any{millis(d.req.At), d.req.By, FoundUndone, FoundWrong, text}, "review of decision %d", d.req.Undo)
	}
	d.items = must.Get(sqlite.Column[uint32](d.ctx, d.x.conn, `SELECT item FROM decision_items
		WHERE decision = ? ORDER BY item`, d.req.Undo))
}

// isAbout reports whether the decision to undo was about a cluster: it was made there, merged into it, or left its item
// there.
func (d *decision) isAbout(cluster uint32) bool {
	cluster = d.x.clusters.Resolve(cluster)
	return cluster == d.x.clusters.Resolve(d.cluster) ||
		d.item != 0 && cluster == d.x.clusters.Resolve(d.x.tables.Rows.Cluster(d.item))
}

func (d *decision) undoEffect(e *effect) {
	if e.ClusterID != 0 {
		c := d.batch.cluster(e.ClusterID)
		if c.state() == e.Before {
			return // the item that went back took it along
		}
		if c.state() != e.After {
			d.conflict("cluster %d has changed since", e.ClusterID)
		}
		d.changeCluster(e.ClusterID, e.Before)
		return
	}
	v := d.version(e.Item)
	const marks = resident.Exempt | resident.Aside
	if mark := e.After.Flags &^ e.Before.Flags & marks; mark != 0 { // all that exempt and aside do
		after := stateOf(v)
		after.Flags &^= mark
		d.changeItem(v, after)
		return
	}
	for _, c := range []*state{&e.Before, &e.After} { // they may have come and gone since
		c.Flags = c.Flags&^marks | v.flags&marks
	}
	if stateOf(v) != e.After {
		d.conflict("item %q has changed since", v.id)
	}
	if e.After.Cluster != e.Before.Cluster {
		// A released item goes back. Copies that have joined it meanwhile
		// follow it: their cluster is merged into the one it goes back to. A
		// cluster whose lead has left it since takes no item back: the item
		// might have been promoted in its place.
		to, lead := d.x.clusters.Lead(e.Before.Cluster)
		if lead == 0 && !e.Leadless || to == d.x.clusters.Resolve(e.After.Cluster) {
			d.conflict("cluster %d, where item %q came from, has been merged or has no lead any more",
				e.Before.Cluster, v.id)
		}
		c := d.batch.cluster(e.After.Cluster)
		d.changeCluster(c.id, state{Lead: c.lead, Merged: e.Before.Cluster, Follows: e.Before.Cluster})
	}
	before := len(d.changes)
	d.changeItem(v, e.Before)
	if len(d.changes) > before && e.Event != 0 {
		d.bringBack(&d.changes[before].event, e.Event)
	}
}

// bringBack says that an event of an undo brings back what an earlier one said.
func (d *decision) bringBack(e *eventRow, number uint64) {
	e.restores = sql.NullInt64{Int64: int64(number), Valid: true}
	must.Do(d.query(`SELECT cause, note FROM events WHERE number = ?`, number).
		Scan(&e.effectiveCause, &e.effectiveNote))
}
