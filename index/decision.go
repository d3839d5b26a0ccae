package index

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/internal/must"
)

const (
	Release  = "release" // it is no copy: a duplicate or suspect becomes unique, a suspect where it is in its story
	Reject   = "reject"  // it is a copy: an accepted item becomes a duplicate
	Block    = "block"   // take a lead down; later copies are rejected
	Exempt   = "exempt"  // nothing is matched against a lead: later copies are accepted
	Aside    = "aside"   // what the service does when a lead meets too many suspects
	Merge    = "merge"   // one cluster is part of another
	Join     = "join"    // two clusters tell one story
	Split    = "split"   // a cluster, and what follows it, tells another story
	MakeLead = "lead"    // choose which member is the original
	Undo     = "undo"    // take an earlier decision back
)

// DecisionRequest is what an editor wants. Which fields matter depends on Kind.
type DecisionRequest struct {
	Kind string `json:"kind"`
	// Item is the id it is about: for Release, Reject and MakeLead; for Block,
	// instead of Cluster.
	Item string `json:"item,omitempty"`
	// Items, instead of Item, are several that one Release or Reject is about:
	// all of them, or, if one of them does not fit, none.
	Items []DecisionItem `json:"items,omitempty"`
	// Cluster is what Merge, Join, Split and Block are about.
	Cluster uint32 `json:"cluster,omitempty"`
	// Into is the cluster that a Merge, Join or Reject goes into; for Reject, 0
	// means the one the item was suspected of.
	Into uint32 `json:"into,omitempty"`
	// In, where given, is the cluster that Item must be in, or that the
	// decision to undo must have been about; else it is a conflict. Each of Items
	// may also be of the family (FamilyOf) of that cluster's founder.
	In uint32 `json:"in,omitempty"`
	// Undo is the number of the decision to take back.
	Undo uint64 `json:"undo,omitempty"`
	// Expect, where given, is what the editor saw: the verdict of Item, or
	// of the lead of Cluster. Another one by now is a conflict.
	Expect Verdict `json:"expect,omitempty"`
	// Seen, where given, is the number of the last event of it that they saw: a
	// later one is a conflict, even where the verdict is the same again.
	Seen   uint64    `json:"seen,omitempty"`
	By     string    `json:"by"` // who decides; required
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at,omitzero"` // zero: now
}

// DecisionItem is one of several items that are decided about together.
type DecisionItem struct {
	Item string `json:"item"`
	Seen uint64 `json:"seen,omitempty"` // as DecisionRequest.Seen
}

// ConflictError says that a decision does not fit the present state, most
// often because of an earlier decision: Decision then holds it.
type ConflictError struct {
	Problem  string
	Decision *Decision
}

func (e *ConflictError) Error() string {
	if e.Decision == nil {
		return e.Problem
	}
	return fmt.Sprintf("%s: %s decided %q at %s", e.Problem, e.Decision.By, e.Decision.Kind,
		e.Decision.At.Format(time.RFC3339))
}

// state is that of an item or a cluster before or after a decision, as it is stored.
type state struct {
	Verdict Verdict        `json:"verdict,omitempty"`
	Rule    Rule           `json:"rule,omitempty"`
	Of      uint32         `json:"of,omitempty"`
	Flags   resident.Flags `json:"flags,omitempty"`
	Cluster uint32         `json:"cluster,omitempty"`
	Lead    uint32         `json:"lead,omitempty"`
	Merged  uint32         `json:"merged,omitempty"`
	Follows uint32         `json:"follows,omitempty"`
	Adds    int            `json:"adds,omitempty"`
}

// effect is one change a decision made: to the item of that ordinal, or to the
// cluster of that id.
type effect struct {
	Item      uint32 `json:"item,omitempty"`
	ClusterID uint32 `json:"cluster_id,omitempty"`
	// Leadless says that the cluster the item left had no lead then either: its
	// lead had been withdrawn, which left its copies what they were, and came back
	// as a copy of something else.
	Leadless bool `json:"leadless,omitempty"`
	// Event is the one by which the item was as it is Before.
	Event  uint64 `json:"event,omitempty"`
	Before state  `json:"before"`
	After  state  `json:"after"`
}

// decision is one decision being applied.
type decision struct {
	*batch
	req     DecisionRequest
	note    string
	effects []effect
	changes []changeOf // that get an event each
	moved   []uint32   // clusters that follow another telling now: their leads get an event, too
	events  []Event
	cluster uint32
	item    uint32
	other   uint64
	items   []uint32 // where it is about several
}

// changeOf is a change of an item's state, and the item.
type changeOf struct {
	event eventRow
	item  *itemRow
}

// requested finds the version a request is about.
func (d *decision) requested() *version {
	if d.req.Item == "" {
		must.Do(verdict.Wrong(ErrQuery, "item", "is missing: %s is about one", d.req.Kind))
	}
	v := d.latest(d.req.Item)
	if v == nil {
		must.Do(verdict.Wrong(ErrNotFound, "item", "%q is not found", d.req.Item))
		return nil // not reached: Do panics
	}
	d.item = v.ordinal
	d.cluster = d.x.clusters.Resolve(v.current.cluster)
	if in := d.x.clusters.Resolve(d.req.In); in != 0 && in != d.cluster &&
		(len(d.req.Items) == 0 || in != d.familyCluster(v)) {
		d.conflict("item %q is in cluster %d, not in %d", v.id, d.cluster, d.req.In)
	}
	d.checkExpected(v)
	return v
}

// familyCluster is the cluster of the first of an item's family; its own for
// an item without one.
func (d *decision) familyCluster(v *version) uint32 {
	var ofSeries uint32
	if v.current.of != 0 {
		ofSeries = uint32(d.version(v.current.of).series.Int64)
	}
	first := cmp.Or(FamilyOf(uint32(v.series.Int64), v.current.of, ofSeries), v.ordinal)
	return d.x.clusters.Resolve(d.x.tables.Rows.Cluster(first))
}

// FamilyOf is what suspects are gathered by: the series of an item, or that of
// what it was judged against, or that item itself; 0 for none. It is given by
// ordinals, as Brief has them; ofSeries is the series of what it was judged
// against.
func FamilyOf(series, of, ofSeries uint32) uint32 { return cmp.Or(series, ofSeries, of) }

// checkExpected ends a decision about an item that is not what the editor saw. If its source
// or another item has changed it, the conflict names no decision.
func (d *decision) checkExpected(v *version) {
	if d.req.Expect == 0 && d.req.Seen == 0 {
		return
	}
	e := d.x.lastEvent(d.ctx, d.x.conn, v.ordinal, `1`)
	var problem string
	switch {
	case d.req.Expect != 0 && d.req.Expect != v.current.verdict:
		problem = fmt.Sprintf("item %q is %s by now, not %s", v.id, v.current.verdict, d.req.Expect)
	case d.req.Seen != 0 && d.req.Seen != e.Number:
		problem = fmt.Sprintf("item %q has changed since: it is %s by event %d", v.id, v.current.verdict, e.Number)
	default:
		return
	}
	d.item = v.ordinal
	if e.Cause != CauseEditor {
		must.Do(&ConflictError{Problem: problem})
	}
	d.conflict("%s", problem)
}

// conflict ends a decision that does not fit the state, and names the decision that
// made the state.
func (d *decision) conflict(problem string, args ...any) {
	e := &ConflictError{Problem: fmt.Sprintf(problem, args...)}
	last := must.Get(decisionsWhere(d.ctx, d.x.conn, `d.item = ?1
		OR d.number IN (SELECT decision FROM decision_items WHERE item = ?1)
		OR d.cluster = ?2 AND (d.item IS NULL
			OR EXISTS (SELECT 1 FROM json_each(d.effects) WHERE json_extract(value, '$.item') = ?1))
		ORDER BY d.number DESC LIMIT 1`, d.item, d.cluster))
	if len(last) > 0 {
		e.Decision = &last[0]
	}
	must.Do(e)
}

func stateOf(v *version) state {
	c := &v.current
	return state{Verdict: c.verdict, Rule: c.rule, Of: c.of, Flags: v.flags, Cluster: c.cluster}
}

// changeItem gives an item another state, with its event and membership.
func (d *decision) changeItem(v *version, after state) {
	before := stateOf(v)
	if before == after {
		return
	}
	was := v.current
	next := was
	next.verdict, next.rule, next.of, next.cluster = after.Verdict, after.Rule, after.Of, after.Cluster
	d.setCurrent(v, after.Flags, next)
	gone := after.Verdict == Withdrawn && after.Flags&resident.Blocked == 0
	if was.cluster != after.Cluster || gone {
		d.removeMember(was.cluster, v.ordinal)
	}
	if after.Verdict == Duplicate && (was.cluster != after.Cluster || before.Verdict != Duplicate) {
		d.addMember(after.Cluster, v.ordinal)
	}
	left := effect{Item: v.ordinal, Before: before, After: stateOf(v)}
	if before.Cluster != after.Cluster {
		_, lead := d.x.clusters.Lead(before.Cluster)
		left.Leadless = lead == 0
	}
	d.effects = append(d.effects, left)
	if before.Verdict == after.Verdict && before.Of == after.Of && before.Cluster == after.Cluster {
		return
	}
	reason := d.lastReason(v.ordinal)
	// What an undo brought back, or the last event that gave a reason.
	d.effects[len(d.effects)-1].Event = cmp.Or(reason.Restores, reason.Number)
	e := eventRow{at: millis(d.req.At), verdict: after.Verdict, previous: before.Verdict, cause: CauseEditor,
		rule: after.Rule, of: ordinalOrNull(after.Of), cluster: after.Cluster, revision: next.revision,
		note: textOrNull(d.note)}
	d.changes = append(d.changes, changeOf{e, &v.itemRow})
}

// emitChanges emits an event for each change, once all are made: only then is it known
// which cluster an item is in. An undo names the cluster that the item was in
// before, even if that cluster has been merged since: a reader of the events knows the
// merge from its event, and the merge may be undone later.
func (d *decision) emitChanges() {
	for _, c := range d.changes {
		if d.req.Kind != Undo {
			c.event.cluster = d.x.clusters.Resolve(c.event.cluster)
		}
		d.events = append(d.events, d.emit(c.event, c.item))
	}
	d.emitMoves()
}

// lastReason is the last event that says why a version has its verdict: a decision that moves its telling does not.
func (d *decision) lastReason(ordinal uint32) Event {
	const condition = `NOT (e.cause = 5 AND e.verdict = e.previous AND e.restores IS NULL)`
	return d.x.lastEvent(d.ctx, d.x.conn, ordinal, condition)
}

// addMember makes an item a member of a cluster, if it is not one.
func (d *decision) addMember(id, ordinal uint32) {
	var there bool
	must.Do(d.query(`SELECT count(*) FROM members WHERE cluster = ? AND ordinal = ?`, id, ordinal).Scan(&there))
	if there {
		return
	}
	c := d.batch.cluster(id)
	if c.size > 0 && c.lead == ordinal {
		// It led the cluster alone: it becomes a row, the size stays.
		d.insertMember(id, ordinal)
		d.setCluster(c)
		return
	}
	d.addCopy(id, ordinal, c.last)
}

// changeCluster gives a cluster another lead, merges it, or lets it follow another telling.
func (d *decision) changeCluster(id uint32, after state) {
	c := d.batch.cluster(id)
	before := c.state()
	if after.Follows != before.Follows {
		if after.Follows != 0 && slices.Contains(d.path(after.Follows), id) {
			d.conflict("cluster %d would follow itself in its story", id)
		}
		d.moved = append(d.moved, id)
	}
	c.lead, c.merged, c.follows, c.adds = after.Lead, after.Merged, after.Follows, after.Adds
	d.setCluster(c)
	d.effects = append(d.effects, effect{ClusterID: id, Before: before, After: after})
}

// leadOf is the lead of a cluster that a request names.
func (d *decision) leadOf(id uint32, field string) *version {
	unknown := verdict.Wrong(ErrNotFound, field, "%d is not found", id)
	if id == 0 || id >= d.ordinal {
		must.Do(unknown)
	}
	cluster, lead := d.x.clusters.Lead(id)
	d.cluster = cluster
	if lead == 0 {
		d.conflict("cluster %d has no lead any more", cluster)
	}
	v := d.version(lead)
	if v.current.cluster != cluster && d.x.clusters.Resolve(v.current.cluster) != cluster {
		must.Do(unknown)
	}
	return v
}
