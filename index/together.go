package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"jianguo/index/resident"
)

// MaxTogether bounds how many items one decision may be about.
const MaxTogether = 2000

// together decides about several items as one: with one entry in the log, one
// undo, and an event for each.
func (d *decision) together() error {
	one := d.release
	switch {
	case d.req.Kind == Reject:
		one = d.reject
	case d.req.Kind != Release:
		return fmt.Errorf("items: only %s and %s can be about several: %w", Release, Reject, ErrQuery)
	case d.req.Item != "":
		return fmt.Errorf("items: want either these or item: %w", ErrQuery)
	case len(d.req.Items) > MaxTogether:
		return fmt.Errorf("items: there are %d, at most %d can be decided about together: %w", len(d.req.Items), MaxTogether, ErrQuery)
	}
	var cluster uint32
	var into uint64
	twice := map[string]bool{}
	for _, it := range d.req.Items {
		if twice[it.Item] {
			return fmt.Errorf("items: %q is there twice: %w", it.Item, ErrQuery)
		}
		twice[it.Item] = true
		d.req.Item, d.req.Seen = it.Item, it.Seen
		v, err := d.current()
		if err != nil {
			return err
		}
		if cluster == 0 {
			if cluster = d.familyCluster(v); v.state.verdict == Duplicate {
				cluster = d.cluster
			}
		}
		if err := one(); err != nil {
			return err
		}
		d.items = append(d.items, d.item)
		if len(d.items) == 1 {
			into = d.other
		} else if d.other != into {
			into = 0
		}
	}
	// The log speaks of the first, and of the cluster that all of them are like.
	d.req.Item, d.item, d.cluster, d.other = d.req.Items[0].Item, d.items[0], cluster, into
	return nil
}

// FamilyOf is what suspects are gathered by: the series of an item, or that of
// what it was judged against, or that item itself; 0 for none. It is given by
// ordinals, as Brief has them; ofSeries is the series of what it was judged
// against.
func FamilyOf(series, of, ofSeries uint32) uint32 {
	switch {
	case series != 0:
		return series
	case ofSeries != 0:
		return ofSeries
	}
	return of
}

// ClusterOf is the cluster that a version is in now, 0 for none.
func (x *Index) ClusterOf(ordinal uint32) uint32 {
	return x.clusters.Resolve(x.rows.Cluster(ordinal))
}

// VersionClusters are the clusters that versions are in now, each once.
func (x *Index) VersionClusters(ordinals []uint32) []uint32 {
	clusters := make([]uint32, 0, len(ordinals))
	for _, o := range ordinals {
		clusters = append(clusters, x.ClusterOf(o))
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// ClustersOf says which cluster each of some ids is in now. Unknown ids are
// left out.
func (x *Index) ClustersOf(ctx context.Context, ids []string) (map[string]uint32, error) {
	wanted := map[string]bool{}
	versions := []uint32{}
	for _, id := range ids {
		wanted[id] = true
		versions = x.ids.Get(versions, xxh3.HashString(id))
	}
	list, err := json.Marshal(versions)
	if err != nil {
		return nil, err
	}
	out := map[string]uint32{}
	err = each(ctx, x.reader, `SELECT ordinal, id FROM items WHERE ordinal IN (SELECT value FROM json_each(?))`, func(r *sql.Rows) error {
		var ordinal uint32
		var id string
		err := r.Scan(&ordinal, &id)
		if wanted[id] && x.rows.Flags(ordinal)&resident.Superseded == 0 {
			out[id] = x.clusters.Resolve(x.rows.Cluster(ordinal))
		}
		return err
	}, string(list))
	if err != nil {
		return nil, fmt.Errorf("index: clusters of %d ids: %w", len(ids), err)
	}
	return out, nil
}

// familyCluster is the cluster of the first of an item's family; its own for
// an item without one.
func (d *decision) familyCluster(v *version) uint32 {
	var ofSeries uint32
	if v.state.of != 0 {
		if of, err := d.version(v.state.of); err == nil {
			ofSeries = uint32(of.series.Int64)
		}
	}
	first := FamilyOf(uint32(v.series.Int64), v.state.of, ofSeries)
	if first == 0 {
		first = v.ordinal
	}
	return d.x.clusters.Resolve(d.x.rows.Cluster(first))
}
