package index

import (
	"context"
	"database/sql"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/index/resident"
	"jianguo/index/verdict"
)

// View is the access of a read model to an Index: its tables, and the resident data
// of versions and clusters. It is safe for concurrent use, and valid until the Index
// is closed.
type View struct{ x *Index }

// View returns the view of read models.
func (x *Index) View() View { return View{x} }

// Tables is a pool of read-only connections to index.db.
func (v View) Tables() *sql.DB { return v.x.reader }

// Dir is the data directory.
func (v View) Dir() string { return v.x.cfg.Dir }

// Applied returns the last applied sequence and the number of the last event.
func (v View) Applied() (seq, event uint64) { return v.x.Applied() }

// Arriving returns the number of mutations that are applied per second.
func (v View) Arriving() int64 { return v.x.rate.lately(time.Now()) }

// State returns the current verdict of a version (0: no such version), and whether a
// revision has superseded it.
func (v View) State(ordinal uint32) (verdict verdict.Verdict, superseded bool) {
	f := v.x.rows.Flags(ordinal)
	return f.Verdict(), f&resident.Superseded != 0
}

// Versions returns the ordinals of the versions of an id. Versions of another id with
// the same hash may be among them.
func (v View) Versions(id string) []uint32 { return v.x.ids.Get(nil, xxh3.HashString(id)) }

// Cluster returns the last cluster of a version, without following merges.
func (v View) Cluster(ordinal uint32) uint32 { return v.x.rows.Cluster(ordinal) }

// Lead returns the cluster that a cluster was merged into, or itself, and the lead of
// that cluster; 0: it has none.
func (v View) Lead(cluster uint32) (standing, lead uint32) { return v.x.clusters.Lead(cluster) }

// Members returns the part of a query, with its arguments, that yields the
// ordinals of a cluster's members as m.ordinal.
func (v View) Members(cluster uint32) (from string, args []any) { return v.x.MembersFrom(cluster) }

// Briefs reads versions by their ordinals. Unknown ordinals are omitted.
func (v View) Briefs(ctx context.Context, ordinals []uint32) (map[uint32]*Brief, error) {
	return v.x.Briefs(ctx, ordinals)
}

// SourcePolicies returns the policies in force by source. A source without an entry
// has the policy normal.
func (v View) SourcePolicies(ctx context.Context) (map[string]SourcePolicy, error) {
	return v.x.SourcePolicies(ctx)
}
