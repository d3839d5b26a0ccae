package api

import (
	"time"

	"jianguo/index"
	"jianguo/index/browse"
)

// listed is an item in a list, with what that list says of it.
type listed struct {
	ID          string        `json:"id"`
	Title       string        `json:"title"`
	Source      string        `json:"source,omitempty"`
	Published   *time.Time    `json:"published_at,omitempty"`
	Arrived     time.Time     `json:"arrived_at"`
	URL         string        `json:"url,omitempty"`
	Cluster     uint32        `json:"cluster,omitempty"`
	Series      uint32        `json:"series,omitempty"`
	Of          string        `json:"of,omitempty"`
	Verdict     index.Verdict `json:"verdict,omitempty"`
	Rule        index.Rule    `json:"rule,omitempty"`
	Distance    *int          `json:"distance,omitempty"`
	Margin      *float32      `json:"margin,omitempty"`
	Resemblance *float32      `json:"resemblance,omitempty"`
	Facts       *index.Facts  `json:"facts,omitempty"`
	Event       uint64        `json:"event,omitempty"` // the number of its last event
}

func listedOf(b *index.Brief) listed {
	return listed{ID: b.ID, Title: b.Title, Source: b.Source, Published: b.Published, Arrived: b.Arrived}
}

// memberOf is one current member of a cluster, nil for none.
func memberOf(b *index.Brief) *listed {
	if b == nil {
		return nil
	}
	it := listedOf(b)
	it.Verdict, it.Rule, it.Distance, it.Resemblance, it.Event = b.Verdict, b.Rule, b.Distance, b.Resemblance, b.Event
	return &it
}

// suspectOf is an item that waits for a decision. It is given the item that it is like, or nil.
func suspectOf(b, of *index.Brief) listed {
	it := *memberOf(b)
	it.Verdict = 0 // all of them are suspects
	it.URL, it.Cluster, it.Series, it.Margin, it.Facts = b.URL, b.Cluster, b.Series, b.Margin, b.Facts
	if of != nil {
		it.Of = of.ID
	}
	return it
}

// cluster is a lead and its rejected copies.
type cluster struct {
	ID uint32 `json:"cluster"`
	// Lead is nil if the cluster has none any more. Original is the presumed
	// original: the member with the earliest credible time of publication.
	Lead     *listed   `json:"lead"`
	Original *listed   `json:"original,omitempty"`
	Size     int       `json:"size"`
	Sources  int       `json:"sources"`
	First    time.Time `json:"first_at,omitzero"` // zero: no item is left
	Last     time.Time `json:"last_at,omitzero"`
	Members  []*listed `json:"members,omitempty"`
	Next     string    `json:"next,omitempty"` // page of members
	// What is below is of a telling in its story: the earlier one, what it was judged against there, and what it adds.
	Follows uint32       `json:"follows,omitempty"`
	Of      string       `json:"of,omitempty"`
	Adds    int          `json:"adds,omitempty"`
	Facts   *index.Facts `json:"facts,omitempty"`
}

func clusterOf(st *browse.Story) cluster {
	return cluster{ID: st.ID, Lead: memberOf(st.Lead), Original: memberOf(st.Original), Size: st.Size,
		Sources: st.Sources, First: st.First, Last: st.Last}
}

// suspectRow is one suspect, or a series of them.
type suspectRow struct {
	Likely  float64  `json:"likely"`
	Watched bool     `json:"watched,omitempty"`
	Waiting int      `json:"waiting"`
	Family  uint32   `json:"family,omitempty"`
	Items   []listed `json:"items"`
}

// hotItem is one lead of the hot list.
type hotItem struct {
	listed
	Sources int     `json:"sources"`
	Score   float64 `json:"score"`
}
