package browse

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"jianguo/index"
	"jianguo/index/sqlite"
)

// HotHalf is how long it takes for what makes a story hot to count half.
const HotHalf = heatHalf

// Hot is an accepted lead and how much it is copied.
type Hot struct {
	Lead    index.Brief
	Cluster uint32
	Sources int
	// Pull is the number of sources that have the story, its first included,
	// each weighed by the age of its last copy.
	Pull float64
}

// Hot lists the accepted leads of the stories that most sources have of late,
// at most n of them; with them the newest items that nobody has copied yet,
// and the leads of some further clusters. Ordered by Pull.
func (b *Model) Hot(ctx context.Context, now time.Time, n int, further []uint32) ([]Hot, error) {
	if further == nil {
		further = []uint32{}
	}
	list, err := json.Marshal(further)
	if err != nil {
		return nil, err
	}
	x := b.cat
	hots := map[uint32]*Hot{} // by cluster
	add := func(cluster, lead uint32, sources int, heat float64) {
		v, superseded := x.State(lead)
		if hots[cluster] == nil && v.Accepted() && !superseded {
			hots[cluster] = &Hot{Lead: index.Brief{Ordinal: lead}, Cluster: cluster, Sources: sources, Pull: math.Exp2(heat - heatAt(now.UnixMilli()))}
		}
	}
	err = sqlite.Each(ctx, b.reader, `SELECT * FROM (SELECT cluster, sources, pull FROM stories ORDER BY pull DESC LIMIT ?)
		UNION SELECT cluster, sources, pull FROM stories WHERE cluster IN (SELECT value FROM json_each(?))`, func(r *sql.Rows) error {
		var cluster uint32
		var sources int
		var pull float64
		err := r.Scan(&cluster, &sources, &pull)
		cluster, lead := x.Lead(cluster)
		add(cluster, lead, sources, pull)
		return err
	}, n, string(list))
	if err != nil {
		return nil, fmt.Errorf("browse: hot stories: %w", err)
	}
	err = sqlite.Each(ctx, x.Tables(), `SELECT ordinal, arrived_at FROM (SELECT ordinal, arrived_at FROM items ORDER BY ordinal DESC LIMIT ?)
		UNION SELECT ordinal, arrived_at FROM items WHERE ordinal IN (SELECT value FROM json_each(?))`, func(r *sql.Rows) error {
		var ordinal uint32
		var arrived int64
		err := r.Scan(&ordinal, &arrived)
		// A cluster of one; what leads others is a story, or will be in a moment.
		if cluster, lead := x.Lead(x.Cluster(ordinal)); lead == ordinal {
			add(cluster, lead, 1, heatAt(arrived))
		}
		return err
	}, n, string(list))
	if err != nil {
		return nil, fmt.Errorf("browse: newest items: %w", err)
	}
	return b.briefHot(ctx, hots)
}

// briefHot reads the leads, and puts them in order.
func (b *Model) briefHot(ctx context.Context, hots map[uint32]*Hot) ([]Hot, error) {
	var leads []uint32
	for _, h := range hots {
		leads = append(leads, h.Lead.Ordinal)
	}
	briefs, err := b.cat.Briefs(ctx, leads)
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
