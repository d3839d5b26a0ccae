package index

import (
	"slices"

	"jianguo/index/resident"
	"jianguo/internal/must"
)

// before is what a batch has changed in memory, as it was before the batch. The later articles of a batch are judged
// by what the earlier ones changed, so the changes cannot wait for the commit; one that fails restores this. The
// look-ups of ids and hashes are not restored: a reader checks the row behind a look-up, and skips it if there is
// no row or the row is of another item.
type before struct {
	rows     map[uint32]residentRow // by ordinal
	clusters map[uint32]clusterRow  // by id: lead and merged
	postings []change               // in the order in which they were made
}

// residentRow is what is in memory of a version.
type residentRow struct {
	flags            resident.Flags
	cluster, touched uint32
}

// change is a posting that was added or removed.
type change struct {
	ordinal uint32
	posting resident.Posting
	removed bool
}

func (b *before) keepRow(rows *resident.Rows, ordinal uint32) {
	if _, kept := b.rows[ordinal]; !kept {
		b.rows[ordinal] = residentRow{rows.Flags(ordinal), rows.Cluster(ordinal), rows.Touched(ordinal)}
	}
}

func (b *before) keepCluster(clusters *resident.Clusters, id uint32) {
	if _, kept := b.clusters[id]; !kept {
		lead, merged := clusters.Own(id)
		b.clusters[id] = clusterRow{lead: lead, merged: merged}
	}
}

func (b *batch) post(ordinal uint32, p resident.Posting) {
	p.AddTo(b.x.tables.Bands, ordinal)
	b.before.postings = append(b.before.postings, change{ordinal, p, false})
}

func (b *batch) unpost(ordinal uint32, p resident.Posting) {
	p.RemoveFrom(b.x.tables.Bands, ordinal)
	b.before.postings = append(b.before.postings, change{ordinal, p, true})
}

// learn learns what recurs in texts of a source from an article that has nothing to do with an earlier one.
func (b *batch) learn(a *Article, ordinal uint32) {
	if a.Source == "" || a.Text.Body == "" {
		return
	}
	was := must.Get(b.x.boilerplate.Of(b.ctx, a.Source))
	if next := was.Learn(a.ID, a.Text.Body, uint64(ordinal)); next != was {
		b.x.boilerplate.Set(a.Source, next)
	}
}

// restore makes memory again what it was before a batch that failed.
func (x *catalogue) restore(b *before) {
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
	x.matcher.Reset()
}
