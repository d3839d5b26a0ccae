package browse

import (
	"context"
	"database/sql"

	"jianguo/index"
	"jianguo/index/verdict"
)

// Catalogue is what a Model reads of an index: an index.View.
type Catalogue interface {
	Tables() *sql.DB
	Dir() string
	Recipe() string
	Applied() (seq, event uint64)
	Arriving() int64
	State(ordinal uint32) (v verdict.Verdict, superseded bool)
	Versions(id string) []uint32
	Cluster(ordinal uint32) uint32
	Lead(cluster uint32) (standing, lead uint32)
	MembersFrom(cluster uint32) (from string, args []any)
	Briefs(ctx context.Context, ordinals []uint32) (map[uint32]*index.Brief, error)
	SourcePolicies(ctx context.Context) (map[string]index.SourcePolicy, error)
}

// standing is the cluster that stands for a cluster after merges.
func standing(cat Catalogue, cluster uint32) uint32 {
	cluster, _ = cat.Lead(cluster)
	return cluster
}
