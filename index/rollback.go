package index

import (
	"slices"

	"jianguo/index/resident"
	"jianguo/internal/must"
)

// rollback is what was in memory before a batch changed it. The later articles of a batch are judged by what the
// earlier ones changed, so the changes cannot wait for the commit; a batch that fails is rolled back from this. The
// look-ups of ids and hashes are not rolled back: a reader checks the row behind a look-up, and skips it if there is
// no row or the row is of another item.
type rollback struct {
	rows     map[uint32]residentRow // by ordinal
	clusters map[uint32]clusterRow  // by id: lead and merged
	postings []postingChange        // in the order in which they were made
}

// residentRow is what is in memory of a version.
type residentRow struct {
	flags            resident.Flags
	cluster, touched uint32
}

// postingChange is a posting that was added or removed.
type postingChange struct {
	ordinal uint32
	posting resident.Posting
	removed bool
}

func (b *rollback) saveRow(rows *resident.Rows, ordinal uint32) {
	if _, kept := b.rows[ordinal]; !kept {
		b.rows[ordinal] = residentRow{rows.Flags(ordinal), rows.Cluster(ordinal), rows.Touched(ordinal)}
	}
}

func (b *rollback) saveCluster(clusters *resident.Clusters, id uint32) {
	if _, kept := b.clusters[id]; !kept {
		lead, merged := clusters.Own(id)
		b.clusters[id] = clusterRow{lead: lead, merged: merged}
	}
}

func (b *batch) post(ordinal uint32, p resident.Posting) {
	p.AddTo(b.x.tables.Bands, ordinal)
	b.rollback.postings = append(b.rollback.postings, postingChange{ordinal, p, false})
}

func (b *batch) unpost(ordinal uint32, p resident.Posting) {
	p.RemoveFrom(b.x.tables.Bands, ordinal)
	b.rollback.postings = append(b.rollback.postings, postingChange{ordinal, p, true})
}

// learnBoilerplate learns what recurs in texts of a source from an article that has nothing to do with an earlier one.
func (b *batch) learnBoilerplate(a *Article, ordinal uint32) {
	if a.Source == "" || a.Text.Body == "" {
		return
	}
	was := must.Get(b.x.boilerplate.Of(b.ctx, a.Source))
	if next := was.Learn(a.ID, &a.Text, uint64(ordinal)); next != was {
		b.x.boilerplate.Set(a.Source, next)
	}
}

// rollBack restores what was in memory before a batch that failed.
func (x *catalogue) rollBack(b *rollback) {
	for _, c := range slices.Backward(b.postings) {
		if c.removed {
			c.posting.AddTo(x.tables.Bands, c.ordinal)
		} else {
			c.posting.RemoveFrom(x.tables.Bands, c.ordinal)
		}
	}
	for ordinal, r := range b.rows {
		x.tables.Rows.SetFlags(ordinal, r.flags)
		x.tables.Rows.SetCluster(ordinal, r.cluster)
		x.tables.Rows.Touch(ordinal, r.touched)
		if ordinal >= x.nextOrdinal {
			x.matcher.Uncache(ordinal)
		}
	}
	for id, c := range b.clusters {
		x.clusters.Set(id, c.lead, c.merged)
	}
	x.boilerplate.End(false)
	x.matcher.DropComparisons()
}
