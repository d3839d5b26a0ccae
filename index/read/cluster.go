package read

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/internal/sqlite"
)

// Member is one current member of a cluster, in the form that the API returns.
type Member struct {
	Ordinal     uint32          `json:"-"`
	ID          string          `json:"id"`
	Title       string          `json:"title"`
	Source      string          `json:"source,omitempty"`
	Published   *time.Time      `json:"published_at,omitempty"`
	Arrived     time.Time       `json:"arrived_at"`
	Verdict     verdict.Verdict `json:"verdict"`
	Rule        verdict.Rule    `json:"rule,omitempty"`
	Distance    *int            `json:"distance,omitempty"`
	Resemblance *float32        `json:"resemblance,omitempty"`
	Event       uint64          `json:"event"` // the number of its last event
}

// Cluster is a lead and its rejected copies, in the form that the API returns.
type Cluster struct {
	ID uint32 `json:"cluster"`
	// Lead is nil if the cluster has none any more. Original is the presumed
	// original: the member with the earliest credible time of publication.
	Lead     *Member   `json:"lead"`
	Original *Member   `json:"original,omitempty"`
	Size     int64     `json:"size"`
	Sources  int       `json:"sources"`
	First    time.Time `json:"first_at"`
	Last     time.Time `json:"last_at"`
	Members  []Member  `json:"members,omitempty"`
}

// MembersFrom returns the part of a query, with its arguments, that yields the ordinals
// of a cluster's members as m.ordinal.
func (x *Reader) MembersFrom(cluster uint32) (string, []any) {
	_, lead := x.clusters.Lead(cluster)
	ids := x.clusters.Behind(cluster)
	args := make([]any, len(ids), len(ids)+2)
	for i, id := range ids {
		args[i] = id
	}
	return `(SELECT ordinal FROM members WHERE cluster IN (?` + strings.Repeat(`,?`, len(ids)-1) + `) UNION SELECT ? WHERE ? != 0) m`, append(args, lead, lead)
}

// ClusterOf returns the current cluster of a version, 0 for none.
func (x *Reader) ClusterOf(ordinal uint32) uint32 {
	return x.clusters.Resolve(x.tables.Rows.Cluster(ordinal))
}

// VersionClusters returns the current clusters of versions, each once.
func (x *Reader) VersionClusters(ordinals []uint32) []uint32 {
	clusters := make([]uint32, 0, len(ordinals))
	for _, o := range ordinals {
		clusters = append(clusters, x.ClusterOf(o))
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// ClustersOf returns the current cluster of each id. Unknown ids are omitted.
func (x *Reader) ClustersOf(ctx context.Context, ids []string) (map[string]uint32, error) {
	wanted := map[string]bool{}
	versions := []uint32{}
	for _, id := range ids {
		wanted[id] = true
		versions = x.tables.IDs.Get(versions, xxh3.HashString(id))
	}
	list, err := json.Marshal(versions)
	if err != nil {
		return nil, err
	}
	out := map[string]uint32{}
	err = sqlite.Each(ctx, x.db, `SELECT ordinal, id FROM items WHERE ordinal IN (SELECT value FROM json_each(?))`, func(r *sql.Rows) error {
		var ordinal uint32
		var id string
		err := r.Scan(&ordinal, &id)
		if wanted[id] && x.tables.Rows.Flags(ordinal)&resident.Superseded == 0 {
			out[id] = x.clusters.Resolve(x.tables.Rows.Cluster(ordinal))
		}
		return err
	}, string(list))
	if err != nil {
		return nil, fmt.Errorf("index: clusters of %d ids: %w", len(ids), err)
	}
	return out, nil
}
