package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"jianguo/index"
	"jianguo/index/browse"
	"jianguo/index/stories"
	"jianguo/internal/must"
)

type clustersView struct {
	Stories []browse.ClusterBrief
	Next    string
	Sort    string
	Filter  url.Values
	Sources []string
	Words   string // the search text
}

func (c *Console) clusters(ctx context.Context, p *page) string {
	q := browse.ClusterQuery{Sort: p.e.QueryParam("sort"), Source: p.e.QueryParam("source"),
		Cursor: p.e.QueryParam("cursor")}
	v := &clustersView{Sort: cmp.Or(q.Sort, "heat"), Filter: p.e.QueryParams(), Words: p.Parameter("words")}
	q.MinSize = int(p.number("size"))
	if p.e.QueryParam("since") != "" {
		q.Since = c.cfg.Now().Add(-time.Duration(min(p.number("since"), 1e6)) * time.Hour)
	}
	if v.Words != "" {
		q.Clusters = c.cfg.Index.VersionClusters(must.Get(Find(ctx, c.cfg.Browse, c.cfg.Segmenter, v.Words, 800)))
	}
	list := must.Get(c.cfg.Browse.Clusters(ctx, q))
	v.Stories, v.Next = list.Clusters, list.Next
	for _, s := range must.Get(c.cfg.Browse.Sources(ctx, c.cfg.Now().AddDate(0, 0, -30), 0, 60)) {
		v.Sources = append(v.Sources, s.Name)
	}
	return p.show("clusters", "clusters", "同文组", "Clusters", v)
}

type clusterView struct {
	*browse.ClusterView
	Decisions []index.Decision
	Blocked   bool
	Tellings  int // of its story
}

const memberPage = 40

func (c *Console) cluster(ctx context.Context, p *page) string {
	cluster := must.Get(c.cfg.Browse.Cluster(ctx, uint32(p.number("id")), uint32(p.number("after")), memberPage))
	v := &clusterView{ClusterView: cluster}
	v.Blocked = cluster.Lead != nil && cluster.Lead.Verdict == index.Withdrawn
	v.Decisions = must.Get(c.cfg.Index.Decisions(ctx, index.DecisionQuery{Cluster: cluster.ID, Limit: 20}))
	v.Tellings = len(must.Get(stories.Tellings(ctx, c.cfg.Index.Tables(), c.storyOf(ctx, cluster.ID))))
	if cluster.Lead != nil {
		p.Title = p.Line(cluster.Lead.Title)
	}
	return p.show("cluster", "clusters", fmt.Sprint("同文组 ", cluster.ID), fmt.Sprint("Cluster ", cluster.ID), v)
}

func (c *Console) storyOf(ctx context.Context, cluster uint32) uint32 {
	return must.Get(stories.Of(ctx, c.cfg.Index.Tables(), cluster))
}

// story shows the first telling, what each later one added, and its copies.
func (c *Console) story(ctx context.Context, p *page) string {
	v := must.Get(browse.ReadStory(ctx, c.cfg.Browse, uint32(p.number("id")), memberPage))
	return p.show("story", "clusters", fmt.Sprint("故事 ", v.Number), fmt.Sprint("Story ", v.Number), v)
}

// intoView shows what an item or a cluster would be put into, before it is.
type intoView struct {
	Item    *index.Item // that is judged a copy; nil: a cluster is merged
	Cluster uint32      // that is merged
	Into    string      // as it was given
	Lead    *index.Item // of the cluster merged
	Target  *browse.ClusterView
	Compare *comparison
	Apart   bool          // the two have hardly any text in common
	Joins   bool          // the two clusters are of two stories
	Found   []index.Brief // one of each cluster that Into finds, where it is no number
}

// into shows a cluster before an item or another cluster goes into it.
func (c *Console) into(ctx context.Context, p *page) string {
	v := &intoView{Into: p.Parameter("into"), Cluster: uint32(p.number("cluster"))}
	p.show("into", "clusters", "并入", "Merge", v)
	if id := p.e.QueryParam("item"); id != "" {
		v.Item = must.Get(c.cfg.Index.Item(ctx, id))
		v.Lead, v.Cluster = v.Item, v.Item.Event.Cluster
	} else if cluster := must.Get(c.cfg.Browse.Lead(ctx, v.Cluster)); cluster.Lead != nil {
		v.Cluster, v.Lead = cluster.ID, must.Get(c.cfg.Index.Item(ctx, cluster.Lead.ID))
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(v.Into, "#"), 10, 32)
	if err != nil {
		if v.Found = c.clustersWith(ctx, v.Into, v.Cluster); len(v.Found) == 0 {
			p.wrong("into", p.T("没有找到这样的同文组。", "No cluster was found."))
		}
		return "into"
	}
	target, err := c.cfg.Browse.Cluster(ctx, uint32(number), 0, 1)
	switch {
	case errors.Is(err, index.ErrNotFound):
		p.wrong("into", fmt.Sprintf(p.T("没有编号为 %d 的同文组。", "There is no cluster %d."), number))
		return "into"
	case must.Get(target, err).ID == v.Cluster:
		p.wrong("into", p.T("它已经在这个同文组里。", "It is in this cluster already."))
		return "into"
	case target.Lead == nil:
		p.wrong("into", p.T("这个同文组没有首发，不能并入。", "This cluster has no lead: nothing can go into it."))
		return "into"
	}
	v.Target = target
	v.Joins = v.Item == nil && c.storyOf(ctx, v.Cluster) != c.storyOf(ctx, target.ID)
	if v.Lead != nil {
		v.Compare = p.comparisonOf(must.Get(c.cfg.Index.Item(ctx, target.Lead.ID)), v.Lead)
		v.Apart = max(v.Compare.SharedA, v.Compare.SharedB) < 0.2
	}
	return "into"
}

// clustersWith lists one item of each cluster that a search finds, but for one.
func (c *Console) clustersWith(ctx context.Context, text string, but uint32) (out []index.Brief) {
	v, seen := searchView{Text: text}, map[uint32]bool{but: true}
	c.lookUp(ctx, &v)
	for _, f := range v.Found {
		if !seen[f.Cluster] && len(out) < 20 {
			seen[f.Cluster], out = true, append(out, f.Brief)
		}
	}
	return out
}
