package index

import (
	"fmt"

	"jianguo/index/resident"
)

// reject: an accepted item becomes a copy, and its cluster part of another.
func (d *decision) reject() error {
	v, err := d.current()
	if err != nil {
		return err
	}
	if !v.state.verdict.Accepted() {
		return d.conflict(fmt.Sprintf("item %q is %s: only accepted items can be rejected", v.id, v.state.verdict))
	}
	into := d.req.Into
	if into == 0 {
		if v.state.of == 0 {
			return fmt.Errorf("into: is missing: item %q is not suspected of being a copy, say of which cluster it is one: %w", v.id, ErrQuery)
		}
		into = d.x.rows.Cluster(v.state.of)
	}
	return d.mergeInto(v, into)
}

// merge: the lead of one cluster becomes a copy of the other's.
func (d *decision) merge() error {
	v, err := d.leadOf(d.req.Cluster, "cluster")
	if err != nil {
		return err
	}
	if err := d.expected(v); err != nil {
		return err
	}
	d.item = 0
	if !v.state.verdict.Accepted() {
		return d.conflict(fmt.Sprintf("cluster %d is led by a %s item", d.cluster, v.state.verdict))
	}
	return d.mergeInto(v, d.req.Into)
}

func (d *decision) mergeInto(v *version, into uint32) error {
	from := d.cluster
	target, err := d.leadOf(into, "into")
	if err != nil {
		return err
	}
	to := d.cluster
	d.cluster, d.other = from, uint64(to)
	if to == from {
		return d.conflict(fmt.Sprintf("cluster %d is that one already", from))
	}
	after := cellOf(v)
	after.Verdict, after.Rule, after.Of = Duplicate, ByEditor, target.ordinal
	after.Flags = after.Flags.With(Duplicate)
	if err := d.direct(from, v.ordinal, to); err != nil {
		return err
	}
	return d.change(v, after)
}

// block: the lead is taken down and stays indexed.
func (d *decision) block() error {
	var v *version
	var err error
	if d.req.Item != "" {
		if v, err = d.current(); err == nil && !v.state.verdict.Accepted() {
			return d.conflict(fmt.Sprintf("item %q is %s: block the lead of its cluster", v.id, v.state.verdict))
		}
	} else if v, err = d.leadOf(d.req.Cluster, "cluster"); err == nil {
		if v.state.verdict == Withdrawn {
			return d.conflict(fmt.Sprintf("cluster %d is blocked already", d.cluster))
		}
		err = d.expected(v)
	}
	if err != nil {
		return err
	}
	d.item = v.ordinal
	after := cellOf(v)
	after.Verdict, after.Rule, after.Of = Withdrawn, ByEditor, 0
	after.Flags = (after.Flags | resident.Blocked).With(Withdrawn)
	return d.change(v, after)
}

// lead: another member becomes the lead, the old one a copy of it.
func (d *decision) lead() error {
	v, err := d.current()
	if err != nil {
		return err
	}
	if v.state.verdict != Duplicate {
		return d.conflict(fmt.Sprintf("item %q is %s: only a copy can be made the lead", v.id, v.state.verdict))
	}
	if v.state.cluster != d.cluster {
		return d.conflict(fmt.Sprintf("item %q is in a cluster that was merged: undo the merge first", v.id))
	}
	item := d.item
	old, err := d.leadOf(d.cluster, "cluster")
	if err != nil {
		return err
	}
	d.item = item
	if !old.state.verdict.Accepted() {
		return d.conflict(fmt.Sprintf("cluster %d is blocked", d.cluster))
	}
	if err := d.direct(d.cluster, v.ordinal, 0); err != nil {
		return err
	}
	up := cellOf(v)
	up.Verdict, up.Rule, up.Of, up.Flags = Unique, ByEditor, 0, up.Flags.With(Unique)
	if v.flags&resident.Blank == 0 {
		up.Flags |= resident.Exemplar
	}
	if err := d.change(v, up); err != nil {
		return err
	}
	down := cellOf(old)
	down.Verdict, down.Rule, down.Of, down.Flags = Duplicate, ByEditor, v.ordinal, down.Flags.With(Duplicate)
	return d.change(old, down)
}
