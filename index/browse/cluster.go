package browse

import (
	"context"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
	"jianguo/internal/wrap"
)

// ClusterView is one cluster in full.
type ClusterView struct {
	ClusterBrief
	Members []index.Brief // one page of them, the lead first, then by arrival
	Next    uint32        // the ordinal to ask the next page after; 0: the end
}

// Cluster reads a cluster and a page of its members: those after an ordinal (0:
// the first). The id of a merged cluster stands for the cluster it was merged
// into, the id of an item without copies for a cluster of one; a number that no item
// founded a cluster under is not found.
func (b *Model) Cluster(ctx context.Context, id, after uint32, limit int) (*ClusterView, error) {
	v, err := must.Try(func() *ClusterView { return b.readCluster(ctx, id, after, limit) })
	return v, wrap.Err(err, "browse: story %d", id)
}

// Lead reads the lead and the size of a cluster, which is found as by Cluster: of a large one in a tenth of the time.
func (b *Model) Lead(ctx context.Context, id uint32) (*ClusterBrief, error) {
	c, err := must.Try(func() *ClusterBrief {
		id, lead := found(b.cat, id)
		from, args := b.cat.MembersFrom(id)
		size := count(ctx, b.cat.Tables(), "members", `SELECT count(*) FROM `+from, args...)
		return &ClusterBrief{ID: id, Lead: must.Get(b.cat.Briefs(ctx, []uint32{lead}))[lead], Size: size}
	})
	return c, wrap.Err(err, "browse: lead of cluster %d", id)
}

// found is the cluster that an id stands for, and its lead. It panics on errors (must).
func found(cat *index.Index, id uint32) (cluster, lead uint32) {
	cluster, lead = cat.Lead(id)
	if cluster == 0 || lead != 0 && cat.ClusterOf(lead) != cluster { // that of a copy, or of a revision
		must.Do(verdict.ErrNotFound)
	}
	return cluster, lead
}

func (b *Model) readCluster(ctx context.Context, id, after uint32, limit int) *ClusterView {
	id, lead := found(b.cat, id)
	v := &ClusterView{ClusterBrief: ClusterBrief{ID: id}}
	s := newCounted(lead)
	var page []uint32
	b.members(ctx, id, mostMembers, func(m *member) {
		s.add(m)
		if m.ordinal != lead && m.ordinal > after {
			if len(page) < limit {
				page = append(page, m.ordinal)
			} else if v.Next == 0 {
				v.Next = page[limit-1]
			}
		}
	})
	v.Size, v.Sources = s.size, len(s.sources())
	if s.size > 0 {
		v.First, v.Last = time.UnixMilli(s.first).UTC(), time.UnixMilli(s.last).UTC()
	}
	briefs := must.Get(b.cat.Briefs(ctx, []uint32{lead, s.presumed()}))
	if v.Lead = briefs[lead]; s.presumed() != lead {
		v.Original = briefs[s.presumed()]
	}
	if after == 0 && v.Lead != nil { // the lead is a member of the first page
		v.Members = append(v.Members, *v.Lead)
	}
	v.Members = append(v.Members, b.briefs(ctx, page)...)
	return v
}

// mostMembers is how many members are read of one cluster at most.
const mostMembers = 50_000

// members reads the members of a cluster in order, at most so many; -1: all.
func (b *Model) members(ctx context.Context, cluster uint32, limit int, f func(*member)) {
	from, args := b.cat.MembersFrom(cluster)
	query := `SELECT i.ordinal, coalesce(i.source, 0), i.published_at, i.arrived_at FROM ` + from + `
		JOIN items i ON i.ordinal = m.ordinal ORDER BY i.ordinal LIMIT ?`
	for r := range sqlite.Rows(ctx, b.cat.Tables(), query, append(args, limit)...) {
		var m member
		must.Do(r.Scan(&m.ordinal, &m.source, &m.published, &m.arrived))
		f(&m)
	}
}
