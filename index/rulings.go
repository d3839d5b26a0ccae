package index

import (
	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/internal/must"
)

// reject: an accepted item becomes a copy, and its cluster part of another.
func (d *decision) reject() {
	v := d.requested()
	if !v.current.verdict.Accepted() {
		d.conflict("item %q is %s: only accepted items can be rejected", v.id, v.current.verdict)
	}
	into := d.req.Into
	if into == 0 {
		if v.current.of == 0 {
			must.Do(verdict.Wrong(ErrQuery, "into", "is missing: item %q is not suspected of being a copy, "+
				"say of which cluster it is one", v.id))
		}
		into = d.x.tables.Rows.Cluster(v.current.of)
	}
	d.mergeInto(v, into)
}

// merge: the lead of one cluster becomes a copy of the other's.
func (d *decision) merge() {
	v := d.leadOf(d.req.Cluster, "cluster")
	d.checkExpected(v)
	d.item = 0
	if !v.current.verdict.Accepted() {
		d.conflict("cluster %d is led by a %s item", d.cluster, v.current.verdict)
	}
	d.mergeInto(v, d.req.Into)
}

func (d *decision) mergeInto(v *version, into uint32) {
	from := d.cluster
	target := d.leadOf(into, "into")
	to := d.cluster
	d.cluster, d.other = from, uint64(to)
	if to == from {
		d.conflict("cluster %d is that one already", from)
	}
	d.mergeClusters(from, v.ordinal, to)
	d.changeItem(v, editorState(v, Duplicate, target.ordinal))
}

// editorState is the state of an item after an editor's verdict.
func editorState(v *version, is Verdict, of uint32) state {
	after := stateOf(v)
	after.Verdict, after.Rule, after.Of, after.Flags = is, ByEditor, of, after.Flags.With(is)
	return after
}

// acceptedLead is the lead that a decision is about, by its id or its cluster.
func (d *decision) acceptedLead() (v *version) {
	if d.req.Item != "" {
		if v = d.requested(); !v.current.verdict.Accepted() {
			d.conflict("item %q is %s: %s the lead of its cluster", v.id, v.current.verdict, d.req.Kind)
		}
	} else {
		v = d.leadOf(d.req.Cluster, "cluster")
		if d.item = v.ordinal; v.current.verdict == Withdrawn {
			d.conflict("cluster %d is blocked already", d.cluster)
		}
		d.checkExpected(v)
	}
	return v
}

// exempt: nothing is matched against the lead any more.
func (d *decision) exempt() {
	v := d.acceptedLead()
	if v.flags&resident.Exempt != 0 {
		d.conflict("item %q is exempt already", v.id)
	}
	d.addFlag(v, resident.Exempt)
}

func (d *decision) addFlag(v *version, f resident.Flags) {
	after := stateOf(v)
	after.Flags |= f
	d.changeItem(v, after)
}

// block: the lead is taken down and stays indexed.
func (d *decision) block() {
	v := d.acceptedLead()
	after := editorState(v, Withdrawn, 0)
	after.Flags = (v.flags | resident.Blocked).With(Withdrawn)
	d.changeItem(v, after)
}

// makeLead: another member becomes the lead, the old one a copy of it.
func (d *decision) makeLead() {
	v := d.requested()
	if v.current.verdict != Duplicate {
		d.conflict("item %q is %s: only a copy can be made the lead", v.id, v.current.verdict)
	}
	if v.current.cluster != d.cluster {
		d.conflict("item %q is in a cluster that was merged: undo the merge first", v.id)
	}
	old := d.leadOf(d.cluster, "cluster")
	if !old.current.verdict.Accepted() {
		d.item = old.ordinal // whose decision it was
		d.conflict("cluster %d is blocked", d.cluster)
	}
	next := d.batch.cluster(d.cluster)
	next.lead = v.ordinal
	d.changeCluster(d.cluster, next.state())
	up := editorState(v, Unique, 0)
	if v.flags&resident.Blank == 0 {
		up.Flags |= resident.Exemplar
	}
	d.changeItem(v, up)
	d.changeItem(old, editorState(old, Duplicate, v.ordinal))
}

// MaxTogether bounds how many items one decision may be about.
const MaxTogether = 2000

// decideTogether decides about several items as one: with one entry in the log, one
// undo, and an event for each.
func (d *decision) decideTogether() {
	one := d.release
	switch {
	case d.req.Kind == Reject:
		one = d.reject
	case d.req.Kind != Release:
		must.Do(verdict.Wrong(ErrQuery, "items", "are for %s and %s only", Release, Reject))
	case d.req.Item != "":
		must.Do(verdict.Wrong(ErrQuery, "items", "are given, and item too: want one of the two"))
	case len(d.req.Items) > MaxTogether:
		must.Do(verdict.Wrong(ErrQuery, "items", "are %d, at most %d can be decided about together", len(d.req.Items),
			MaxTogether))
	}
	var cluster uint32
	var into uint64
	twice := map[string]bool{}
	for _, it := range d.req.Items {
		if twice[it.Item] {
			must.Do(verdict.Wrong(ErrQuery, "items", "have %q twice", it.Item))
		}
		twice[it.Item] = true
		d.req.Item, d.req.Seen = it.Item, it.Seen
		v := d.requested()
		if cluster == 0 {
			if cluster = d.familyCluster(v); v.current.verdict == Duplicate {
				cluster = d.cluster
			}
		}
		one()
		d.items = append(d.items, d.item)
		if len(d.items) == 1 {
			into = d.other
		} else if d.other != into {
			into = 0
		}
	}
	// The log speaks of the first, and of the cluster that all of them are like.
	d.req.Item, d.item, d.cluster, d.other = d.req.Items[0].Item, d.items[0], cluster, into
}
