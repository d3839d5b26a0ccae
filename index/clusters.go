package index

import (
	"context"
	"slices"

	"github.com/zeebo/xxh3"

	"jianguo/index/resident"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// MembersFrom returns the part of a query, with its arguments, that yields the ordinals
// of a cluster's members as m.ordinal.
func (x *catalogue) MembersFrom(cluster uint32) (string, []any) {
	_, lead := x.clusters.Lead(cluster)
	return `(SELECT ordinal FROM members WHERE cluster IN (SELECT value FROM json_each(?))
		UNION SELECT ? WHERE ? != 0) m`,
		[]any{sqlite.List(x.clusters.Behind(cluster)), lead, lead}
}

// ClusterOf returns the current cluster of a version, 0 for none.
func (x *catalogue) ClusterOf(ordinal uint32) uint32 {
	return x.clusters.Resolve(x.tables.Rows.Cluster(ordinal))
}

// VersionClusters returns the current clusters of versions, each once.
func (x *catalogue) VersionClusters(ordinals []uint32) []uint32 {
	clusters := make([]uint32, 0, len(ordinals))
	for _, o := range ordinals {
		clusters = append(clusters, x.ClusterOf(o))
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// ClustersOf returns the current cluster of each id. Unknown ids are omitted.
func (x *catalogue) ClustersOf(ctx context.Context, ids []string) (map[string]uint32, error) {
	wanted := map[string]bool{}
	versions := []uint32{}
	for _, id := range ids {
		wanted[id] = true
		versions = x.tables.IDs.Get(versions, xxh3.HashString(id))
	}
	out := map[string]uint32{}
	err := must.Catch(func() {
		const query = `SELECT ordinal, id FROM items WHERE ordinal IN (SELECT value FROM json_each(?))`
		for ordinal, id := range sqlite.Pairs[uint32, string](ctx, x.reader, query, sqlite.List(versions)) {
			if wanted[id] && x.tables.Rows.Flags(ordinal)&resident.Superseded == 0 {
				out[id] = x.ClusterOf(ordinal)
			}
		}
	})
	return out, wrap.Err(err, "index: clusters of %d ids", len(ids))
}
