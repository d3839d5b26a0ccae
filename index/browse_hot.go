package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"jianguo/index/resident"
)

// HotHalf is how long it takes for what makes a story hot to count half.
const HotHalf = heatHalf

// Hot is an accepted lead and how much it is copied.
type Hot struct {
	Lead    Brief
	Cluster uint32
	Sources int
	// Pull is the number of sources that have the story, its first included,
	// each weighed by the age of its last copy.
	Pull float64
}

// Hot lists the accepted leads of the stories that most sources have of late,
// at most n of them; with them the newest items that nobody has copied yet,
// and the leads of some further clusters. Ordered by Pull.
func (b *Browse) Hot(ctx context.Context, now time.Time, n int, further []uint32) ([]Hot, error) {
	if further == nil {
		further = []uint32{}
	}
	list, err := json.Marshal(further)
	if err != nil {
		return nil, err
	}
	x := b.x
	hots := map[uint32]*Hot{} // by cluster
	add := func(cluster, lead uint32, sources int, heat float64) {
		f := x.rows.Flags(lead)
		if hots[cluster] == nil && f.Verdict().Accepted() && f&resident.Superseded == 0 {
			hots[cluster] = &Hot{Lead: Brief{Ordinal: lead}, Cluster: cluster, Sources: sources, Pull: math.Exp2(heat - heatAt(now.UnixMilli()))}
		}
	}
	err = each(ctx, b.reader, `SELECT * FROM (SELECT cluster, sources, pull FROM stories ORDER BY pull DESC LIMIT ?)
		UNION SELECT cluster, sources, pull FROM stories WHERE cluster IN (SELECT value FROM json_each(?))`, func(r *sql.Rows) error {
		var cluster uint32
		var sources int
		var pull float64
		err := r.Scan(&cluster, &sources, &pull)
		cluster, lead := x.clusters.Lead(cluster)
		add(cluster, lead, sources, pull)
		return err
	}, n, string(list))
	if err != nil {
		return nil, fmt.Errorf("index: hot stories: %w", err)
	}
	err = each(ctx, x.reader, `SELECT ordinal, arrived_at FROM (SELECT ordinal, arrived_at FROM items ORDER BY ordinal DESC LIMIT ?)
		UNION SELECT ordinal, arrived_at FROM items WHERE ordinal IN (SELECT value FROM json_each(?))`, func(r *sql.Rows) error {
		var ordinal uint32
		var arrived int64
		err := r.Scan(&ordinal, &arrived)
		// A cluster of one; what leads others is a story, or will be in a moment.
		if cluster, lead := x.clusters.Lead(x.rows.Cluster(ordinal)); lead == ordinal {
			add(cluster, lead, 1, heatAt(arrived))
		}
		return err
	}, n, string(list))
	if err != nil {
		return nil, fmt.Errorf("index: newest items: %w", err)
	}
	return b.briefHot(ctx, hots)
}

// briefHot reads the leads, and puts them in order.
func (b *Browse) briefHot(ctx context.Context, hots map[uint32]*Hot) ([]Hot, error) {
	var leads []uint32
	for _, h := range hots {
		leads = append(leads, h.Lead.Ordinal)
	}
	briefs, err := b.x.Briefs(ctx, leads)
	if err != nil {
		return nil, err
	}
	out := make([]Hot, 0, len(hots))
	for _, h := range hots {
		if brief := briefs[h.Lead.Ordinal]; brief != nil {
			h.Lead = *brief
			out = append(out, *h)
		}
	}
	slices.SortFunc(out, func(a, b Hot) int { return cmp.Or(cmp.Compare(b.Pull, a.Pull), cmp.Compare(b.Cluster, a.Cluster)) })
	return out, nil
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
