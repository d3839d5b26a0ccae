package index

import (
	"context"
	"database/sql"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/index/resident"
	"jianguo/index/verdict"
)

// View is what a read model reads of an Index: its tables, and what is resident
// of versions and clusters. It is safe for concurrent use, and good until the
// Index is closed.
type View struct{ x *Index }

// View returns the view of read models.
func (x *Index) View() View { return View{x} }

// Tables is a pool of read-only connections to index.db.
func (v View) Tables() *sql.DB { return v.x.reader }

// Dir is the data directory.
func (v View) Dir() string { return v.x.cfg.Dir }

// Applied returns the last applied sequence and the number of the last event.
func (v View) Applied() (seq, event uint64) { return v.x.Applied() }

// Arriving is how many mutations a second are being applied.
func (v View) Arriving() int64 { return v.x.rate.lately(time.Now()) }

// State is the present verdict of a version (0: there is no such version), and
// whether a revision has superseded it.
func (v View) State(ordinal uint32) (verdict verdict.Verdict, superseded bool) {
	f := v.x.rows.Flags(ordinal)
	return f.Verdict(), f&resident.Superseded != 0
}

// Versions are the ordinals of an id's versions; those of another id with the
// same hash may be among them.
func (v View) Versions(id string) []uint32 { return v.x.ids.Get(nil, xxh3.HashString(id)) }

// Cluster is the cluster that a version was put into last, merges not followed.
func (v View) Cluster(ordinal uint32) uint32 { return v.x.rows.Cluster(ordinal) }

// Lead returns the cluster that stands for a cluster after merges, and its
// lead; 0: none is left.
func (v View) Lead(cluster uint32) (standing, lead uint32) { return v.x.clusters.Lead(cluster) }

// Members returns the part of a query, with its arguments, that yields the
// ordinals of a cluster's members as m.ordinal.
func (v View) Members(cluster uint32) (from string, args []any) { return v.x.membersFrom(cluster) }

// Briefs reads versions by their ordinals; unknown ones are left out.
func (v View) Briefs(ctx context.Context, ordinals []uint32) (map[uint32]*Brief, error) {
	return v.x.Briefs(ctx, ordinals)
}

// SourcePolicies returns the policies in force, by source; a source that is
// missing is normal.
func (v View) SourcePolicies(ctx context.Context) (map[string]SourcePolicy, error) {
	return v.x.SourcePolicies(ctx)
}
