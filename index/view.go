package index

import (
	"database/sql"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/index/resident"
	"jianguo/index/verdict"
)

// View is the access of a read model to an Index: what the Index has, its tables, and the
// resident data of versions and clusters. It is safe for concurrent use, and valid until
// the Index is closed.
type View struct{ *Index }

// View returns the view of read models.
func (x *Index) View() View { return View{x} }

// Tables is a pool of read-only connections to index.db.
func (v View) Tables() *sql.DB { return v.reader }

// Dir is the data directory.
func (v View) Dir() string { return v.cfg.Dir }

// Arriving returns the number of mutations that are applied per second.
func (v View) Arriving() int64 { return v.rate.lately(time.Now()) }

// State returns the current verdict of a version (0: no such version), and whether a
// revision has superseded it.
func (v View) State(ordinal uint32) (verdict verdict.Verdict, superseded bool) {
	f := v.rows.Flags(ordinal)
	return f.Verdict(), f&resident.Superseded != 0
}

// Versions returns the ordinals of the versions of an id. Versions of another id with
// the same hash may be among them.
func (v View) Versions(id string) []uint32 { return v.ids.Get(nil, xxh3.HashString(id)) }

// Cluster returns the last cluster of a version, without following merges.
func (v View) Cluster(ordinal uint32) uint32 { return v.rows.Cluster(ordinal) }

// Lead returns the cluster that a cluster was merged into, or itself, and the lead of
// that cluster; 0: it has none.
func (v View) Lead(cluster uint32) (standing, lead uint32) { return v.clusters.Lead(cluster) }
