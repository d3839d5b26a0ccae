package browse

import (
	"context"
	"slices"
	"time"

	"jianguo/index"
	"jianguo/index/stories"
	"jianguo/internal/must"
	"jianguo/internal/wrap"
)

// Story is a whole story: its tellings, which are clusters, by arrival.
type Story struct {
	Number   uint32 // of the story
	Tellings []Telling
	More     int // tellings that are left out
}

// Telling is a cluster in its story, and a page of its members.
type Telling struct {
	ClusterView
	stories.Telling
	// Told is the version that was judged against an earlier telling, and Against the version of that; nil: none was,
	// or an editor let it follow another one.
	Told, Against *index.Brief
}

// Copies is how many items tell the same as the lead.
func (t *Telling) Copies() int {
	if t.Lead == nil {
		return t.Size
	}
	return t.Size - 1
}

// mostTellings is how many tellings of a story are read.
const mostTellings = 100

// ReadStory reads the story that a cluster tells, with so many members of each telling at most.
func ReadStory(ctx context.Context, b *Model, cluster uint32, members int) (*Story, error) {
	story, err := must.Try(func() *Story { return readStory(ctx, b, cluster, members) })
	return story, wrap.Err(err, "browse: story of cluster %d", cluster)
}

func readStory(ctx context.Context, b *Model, cluster uint32, members int) *Story {
	c := &Story{Number: must.Get(stories.Of(ctx, b.cat.Tables(), cluster))}
	tellings := must.Get(stories.Tellings(ctx, b.cat.Tables(), c.Number))
	c.More = max(0, len(tellings)-mostTellings)
	for _, t := range tellings[:len(tellings)-c.More] {
		view := Telling{ClusterView: *b.readCluster(ctx, t.Cluster, 0, members), Telling: t}
		founder := must.Get(b.cat.Briefs(ctx, []uint32{t.Cluster}))[t.Cluster]
		if view.Lead != nil && founder != nil && view.Lead.ID == founder.ID { // maybe corrected, and told since then
			view.Lead.Arrived = founder.Arrived
			view.First = slices.MinFunc([]time.Time{view.First, founder.Arrived}, time.Time.Compare)
		}
		if t.Adds != 0 { // the founder was judged, or a revision of it
			if view.Told = view.Lead; view.Told == nil || view.Told.Of == 0 {
				view.Told = founder
			}
			against := view.Told.Against
			if follows, _ := b.cat.Lead(t.Follows); b.cat.ClusterOf(against) != follows {
				view.Told = nil // an editor lets it follow another one
			} else {
				view.Against = must.Get(b.cat.Briefs(ctx, []uint32{against}))[against]
			}
		}
		c.Tellings = append(c.Tellings, view)
	}
	return c
}
