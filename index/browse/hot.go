package browse

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

// Hot is an accepted lead and how much it is copied.
type Hot struct {
	Lead    uint32 // its ordinal
	Cluster uint32
	Sources int
	// Pull is the number of sources in the cluster, its first included,
	// each weighted by the age of its last copy.
	Pull float64
}

// Hot lists the accepted leads of at most n clusters that most sources were in
// lately, the newest n items without copies, and the leads of some further
// clusters, ordered by Pull.
func (b *Model) Hot(ctx context.Context, now time.Time, n int, further []uint32) ([]Hot, error) {
	return must.Try(func() (out []Hot) {
		list := sqlite.List(further)
		seen := map[uint32]bool{} // clusters
		add := func(cluster, lead uint32, sources int, heat float64) {
			if v, superseded := b.cat.State(lead); !seen[cluster] && v.Accepted() && !superseded {
				// What arrived while the clock was ahead is as hot as what arrives now.
				pull := min(math.Exp2(heat-heatAt(now.UnixMilli())), float64(sources))
				seen[cluster], out = true, append(out, Hot{lead, cluster, sources, pull})
			}
		}
		for r := range sqlite.Rows(ctx, b.reader, `
			SELECT * FROM (SELECT cluster, sources, pull FROM stories ORDER BY pull DESC LIMIT ?) UNION
			SELECT cluster, sources, pull FROM stories WHERE cluster IN (SELECT value FROM json_each(?))`, n, list) {
			var cluster uint32
			var sources int
			var pull float64
			must.Do(r.Scan(&cluster, &sources, &pull))
			cluster, lead := b.cat.Lead(cluster)
			add(cluster, lead, sources, pull)
		}
		for ordinal, arrived := range sqlite.Pairs[uint32, int64](ctx, b.cat.Tables(), `
			SELECT * FROM (SELECT ordinal, arrived_at FROM items ORDER BY ordinal DESC LIMIT ?) UNION
			SELECT ordinal, arrived_at FROM items WHERE ordinal IN (SELECT value FROM json_each(?))`, n, list) {
			// A cluster of one: if it leads others it is in the table already, or will be soon.
			if cluster, lead := b.cat.Lead(b.cat.RecordedCluster(ordinal)); lead == ordinal {
				add(cluster, lead, 1, heatAt(arrived))
			}
		}
		slices.SortFunc(out, func(a, b Hot) int {
			return cmp.Or(cmp.Compare(b.Pull, a.Pull), cmp.Compare(b.Cluster, a.Cluster))
		})
		return out
	})
}
