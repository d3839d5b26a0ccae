package index

import (
	"fmt"

	"jianguo/internal/must"
)

// MaxTogether bounds how many items one decision may be about.
const MaxTogether = 2000

// together decides about several items as one: with one entry in the log, one
// undo, and an event for each.
func (d *decision) together() {
	one := d.release
	switch {
	case d.req.Kind == Reject:
		one = d.reject
	case d.req.Kind != Release:
		must.Do(fmt.Errorf("items: only %s and %s can be about several: %w", Release, Reject, ErrQuery))
	case d.req.Item != "":
		must.Do(fmt.Errorf("items: want either these or item: %w", ErrQuery))
	case len(d.req.Items) > MaxTogether:
		must.Do(fmt.Errorf("items: there are %d, at most %d can be decided about together: %w", len(d.req.Items), MaxTogether, ErrQuery))
	}
	var cluster uint32
	var into uint64
	twice := map[string]bool{}
	for _, it := range d.req.Items {
		if twice[it.Item] {
			must.Do(fmt.Errorf("items: %q is there twice: %w", it.Item, ErrQuery))
		}
		twice[it.Item] = true
		d.req.Item, d.req.Seen = it.Item, it.Seen
		v := d.current()
		if cluster == 0 {
			if cluster = d.familyCluster(v); v.state.verdict == Duplicate {
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
