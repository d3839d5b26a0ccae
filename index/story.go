package index

import (
	"cmp"
	"slices"

	"jianguo/compare"
	"jianguo/index/match"
	"jianguo/index/resident"
	"jianguo/index/stories"
	"jianguo/internal/must"
)

func (c *clusterRow) state() state {
	return state{Lead: c.lead, Merged: c.merged, Follows: c.follows, Adds: c.adds}
}

func (b *batch) path(cluster uint32) []uint32 {
	return must.Get(stories.Path(b.ctx, b.x.conn, cluster))
}

func (b *batch) storyOf(cluster uint32) uint32 { return must.Get(stories.Of(b.ctx, b.x.conn, cluster)) }

// tie lets a version that has just been inserted follow the telling that it was judged against, or shares most with,
// and joins the stories of others of the same matter.
func (b *batch) tie(r *itemRow, j *match.Judgement) {
	adds := 0
	if f := j.Facts; f != nil && f.New != nil && slices.Contains([]string{compare.Extends, compare.Overlap,
		compare.Update}, f.Reason) {
		adds = f.New.Characters
	}
	if r.verdict == Suspect {
		adds = max(adds, 1)
	} else if j.Of == 0 {
		adds = stories.Unknown
	} else if j.Cluster != 0 {
		return
	}
	if c := b.cluster(r.cluster); c.follows != 0 { // r is a revision
		if c.adds = 0; adds != 0 || len(j.Tied) == 0 || j.Tied[0] != b.x.clusters.Resolve(c.follows) {
			c.adds = b.addedBy(r.ordinal, b.cluster(c.follows).lead)
		}
		b.setCluster(c)
	}
	for i, cluster := range j.Tied {
		if i == 0 {
			b.follow(r, r.cluster, cluster, adds)
		} else if a, o := b.storyOf(r.cluster), b.storyOf(cluster); a != o && !b.split(min(a, o)) {
			b.follow(r, max(a, o), min(a, o), stories.Unknown)
		}
	}
}

// split is stories.Split: only editors join such a story to another one.
func (b *batch) split(id uint32) bool { return must.Get(stories.Split(b.ctx, b.x.conn, id)) }

// follow lets a cluster follow another one, unless it follows one, was split off, or comes before it, or the story
// would be too large. What it adds is measured where it is unknown; r leads its cluster from now on.
func (b *batch) follow(r *itemRow, id, to uint32, adds int) {
	c, path := b.cluster(id), b.path(to)
	size := func(story uint32) int { return must.Get(stories.Size(b.ctx, b.x.conn, story)) }
	if c.follows != 0 || slices.Contains(path, id) || b.split(id) ||
		size(id)+size(path[len(path)-1]) > b.x.policy.Tellings {
		return
	}
	if c.follows, c.adds = to, adds; adds == stories.Unknown {
		lead := map[uint32]uint32{id: c.lead, to: b.cluster(to).lead}
		lead[r.cluster] = r.ordinal
		c.adds = b.addedBy(lead[id], lead[to])
	}
	b.setCluster(c)
}

// addedBy is how many characters a version adds to another one, at least one; or stories.Unknown.
func (b *batch) addedBy(later, earlier uint32) int {
	if r := b.x.tables.Rows; later == 0 || earlier == 0 || (r.Flags(later)|r.Flags(earlier))&resident.Blank != 0 {
		return stories.Unknown
	}
	return must.Get(b.x.matcher.Adds(b.ctx, &b.x.inBatch, later, earlier))
}

// joinStories makes one story of two: the first telling of the later story follows the telling that the request names
// of the other one.
func (d *decision) joinStories() {
	d.checkExpected(d.leadOf(d.req.Cluster, "cluster"))
	from := d.cluster
	d.leadOf(d.req.Into, "into")
	to := d.cluster
	d.cluster, d.item, d.other = from, 0, uint64(to)
	id := d.storyOf(from)
	if first := d.storyOf(to); first == id {
		d.conflict("clusters %d and %d tell one story already", from, to)
	} else if first > id {
		id, to = first, from
	}
	d.setFollows(id, to, d.addedBy(d.batch.cluster(id).lead, d.batch.cluster(to).lead))
}

// splitStory makes a telling the first of a story.
func (d *decision) splitStory() {
	d.checkExpected(d.leadOf(d.req.Cluster, "cluster"))
	if d.item = 0; d.batch.cluster(d.cluster).follows == 0 {
		d.conflict("cluster %d is the first telling of its story", d.cluster)
	}
	d.setFollows(d.cluster, 0, 0)
}

// setFollows lets a cluster follow another one, or none, by a decision.
func (d *decision) setFollows(id, to uint32, adds int) {
	c := d.batch.cluster(id)
	c.follows, c.adds = to, adds
	d.changeCluster(id, c.state())
}

// mergeClusters makes a telling, led by an item, part of another one, and their stories one.
func (d *decision) mergeClusters(from, lead, to uint32) {
	was, path := d.batch.cluster(from), d.path(to)
	first := d.batch.cluster(d.storyOf(from))
	switch {
	case slices.Contains(path, from): // what follows it takes its place
		d.setFollows(to, was.follows, was.adds)
	case first.id != from && first.id != path[len(path)-1]: // its story goes along
		d.setFollows(first.id, to, d.addedBy(first.lead, d.batch.cluster(to).lead))
	}
	d.changeCluster(from, state{Lead: lead, Merged: to, Follows: to})
}

// emitMoves emits an event for the lead of each telling that follows another one by a decision, and had no event. For
// a telling without a lead it is that of the first telling behind it: readers of events learn of the move by some item.
func (d *decision) emitMoves() {
	for _, id := range d.moved {
		lead, merged := d.x.clusters.Own(id)
		if lead == 0 {
			for _, t := range must.Get(stories.Tellings(d.ctx, d.x.conn, id)) {
				if own, _ := d.x.clusters.Own(t.Cluster); lead == 0 {
					lead = own
				}
			}
		}
		told := func(c changeOf) bool { return c.item.ordinal == lead }
		if lead == 0 || merged != 0 || slices.ContainsFunc(d.changes, told) {
			continue
		}
		v := d.version(lead)
		c := changeOf{eventRow{at: millis(d.req.At), verdict: v.current.verdict, previous: v.current.verdict,
			cause: CauseEditor, rule: v.current.rule, of: ordinalOrNull(v.current.of),
			cluster: d.x.clusters.Resolve(v.current.cluster), revision: v.current.revision, note: textOrNull(d.note)},
			&v.itemRow}
		if d.req.Kind == Undo { // the verdict's reason and comparison count again, not the decision
			is := d.lastReason(lead)
			d.bringBack(&c.event, cmp.Or(is.Restores, is.Number))
		}
		d.changes = append(d.changes, c)
		d.events = append(d.events, d.emit(c.event, c.item))
	}
}
