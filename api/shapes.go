package api

import (
	"time"

	"jianguo/index"
	"jianguo/index/browse"
)

// listed is an item in a list.
type listed struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Source    string     `json:"source,omitempty"`
	Published *time.Time `json:"published_at,omitempty"`
	Arrived   time.Time  `json:"arrived_at"`
}

func listedOf(b *index.Brief) listed {
	return listed{ID: b.ID, Title: b.Title, Source: b.Source, Published: b.Published, Arrived: b.Arrived}
}

// clusterMember is one current member of a cluster.
type clusterMember struct {
	listed
	Verdict     index.Verdict `json:"verdict"`
	Rule        index.Rule    `json:"rule,omitempty"`
	Distance    *int          `json:"distance,omitempty"`
	Resemblance *float32      `json:"resemblance,omitempty"`
	Event       uint64        `json:"event"` // the number of its last event
}

// clusterMemberOf returns nil for none.
func clusterMemberOf(b *index.Brief) *clusterMember {
	if b == nil {
		return nil
	}
	return &clusterMember{listed: listedOf(b), Verdict: b.Verdict, Rule: b.Rule, Distance: b.Distance,
		Resemblance: b.Resemblance, Event: b.Event}
}

// cluster is a lead and its rejected copies.
type cluster struct {
	ID uint32 `json:"cluster"`
	// Lead is nil if the cluster has none any more. Original is the presumed
	// original: the member with the earliest credible time of publication.
	Lead     *clusterMember   `json:"lead"`
	Original *clusterMember   `json:"original,omitempty"`
	Size     int              `json:"size"`
	Sources  int              `json:"sources"`
	First    time.Time        `json:"first_at,omitzero"` // zero: no item is left
	Last     time.Time        `json:"last_at,omitzero"`
	Members  []*clusterMember `json:"members,omitempty"`
	Next     string           `json:"next,omitempty"` // page of members
	// What is below is of a telling in its story: the earlier one, what it was judged against there, and what it adds.
	Follows uint32       `json:"follows,omitempty"`
	Of      string       `json:"of,omitempty"`
	Adds    int          `json:"adds,omitempty"`
	Facts   *index.Facts `json:"facts,omitempty"`
}

func clusterOf(st *browse.Story) cluster {
	return cluster{ID: st.ID, Lead: clusterMemberOf(st.Lead), Original: clusterMemberOf(st.Original), Size: st.Size,
		Sources: st.Sources, First: st.First, Last: st.Last}
}

// suspect is an item that waits for a decision.
type suspect struct {
	listed
	URL         string       `json:"url,omitempty"`
	Cluster     uint32       `json:"cluster"`
	Series      uint32       `json:"series,omitempty"`
	Of          string       `json:"of,omitempty"`
	Rule        index.Rule   `json:"rule,omitempty"`
	Distance    *int         `json:"distance,omitempty"`
	Margin      *float32     `json:"margin,omitempty"`
	Resemblance *float32     `json:"resemblance,omitempty"`
	Facts       *index.Facts `json:"facts,omitempty"`
	Event       uint64       `json:"event"`
}

// suspectOf is given the item that it is like, or nil.
func suspectOf(b, of *index.Brief) suspect {
	it := suspect{listed: listedOf(b), URL: b.URL, Cluster: b.Cluster, Series: b.Series, Rule: b.Rule,
		Distance: b.Distance, Margin: b.Margin, Resemblance: b.Resemblance, Facts: b.Facts, Event: b.Event}
	if of != nil {
		it.Of = of.ID
	}
	return it
}

// suspectRow is one suspect, or a series of them.
type suspectRow struct {
	Likely  float64   `json:"likely"`
	Watched bool      `json:"watched,omitempty"`
	Waiting int       `json:"waiting"`
	Family  uint32    `json:"family,omitempty"`
	Items   []suspect `json:"items"`
}

// hotItem is one lead of the hot list.
type hotItem struct {
	listed
	Cluster uint32  `json:"cluster"`
	Sources int     `json:"sources"`
	Score   float64 `json:"score"`
}
