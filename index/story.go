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

func (c *clusterRow) cell() cell {
	return cell{Lead: c.lead, Merged: c.merged, Follows: c.follows, Adds: c.adds}
}

// teller is a batch that ties tellings.
type teller struct{ *batch }

// path is stories.Path.
func (b *batch) path(cluster uint32) []uint32 { return must.Get(stories.Path(b.ctx, b.x.w, cluster)) }

func last(path []uint32) uint32 { return path[len(path)-1] }

// tie lets a version that has just been inserted follow the telling that it was judged against, or shares most with,
// and joins the stories of others of the same matter.
func (b teller) tie(r *itemRow, j *match.Judgement) {
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
			c.adds = b.measure(r.ordinal, b.cluster(c.follows).lead)
		}
		b.setCluster(c)
	}
	for i, cluster := range j.Tied {
		if i == 0 {
			b.follow(r, r.cluster, cluster, adds)
		} else if a, o := last(b.path(r.cluster)), last(b.path(cluster)); a != o && !b.split(min(a, o)) {
			b.follow(r, max(a, o), min(a, o), stories.Unknown)
		}
	}
}

// split is stories.Split: only editors join such a story to another one.
func (b teller) split(id uint32) bool { return must.Get(stories.Split(b.ctx, b.x.w, id)) }

// follow lets a cluster follow another one, unless it follows one, was split off, or comes before it, or the story
// would be too large. What it adds is measured where it is unknown; r leads its cluster from now on.
func (b teller) follow(r *itemRow, id, to uint32, adds int) {
	c, path := b.cluster(id), b.path(to)
	size := func(story uint32) int { return must.Get(stories.Size(b.ctx, b.x.w, story)) }
	if c.follows != 0 || slices.Contains(path, id) || b.split(id) || size(id)+size(last(path)) > b.x.policy.Tellings {
		return
	}
	if c.follows, c.adds = to, adds; adds == stories.Unknown {
		lead := map[uint32]uint32{id: c.lead, to: b.cluster(to).lead}
		lead[r.cluster] = r.ordinal
		c.adds = b.measure(lead[id], lead[to])
	}
	b.setCluster(c)
}

// measure is how many characters a version adds to another one, at least one; or stories.Unknown.
func (b teller) measure(later, earlier uint32) int {
	if r := b.x.tables.Rows; later == 0 || earlier == 0 || (r.Flags(later)|r.Flags(earlier))&resident.Blank != 0 {
		return stories.Unknown
	}
	return must.Get(b.x.matcher.Adds(b.ctx, &b.x.judging, later, earlier))
}

// oneStory makes one story of two: the first telling of the later one follows the telling of the other that was named.
func (d *decision) oneStory() {
	d.expected(d.leadOf(d.req.Cluster, "cluster"))
	from := d.cluster
	d.leadOf(d.req.Into, "into")
	to := d.cluster
	d.cluster, d.item, d.other = from, 0, uint64(to)
	id := last(d.path(from))
	if first := last(d.path(to)); first == id {
		d.conflict("clusters %d and %d tell one story already", from, to)
	} else if first > id {
		id, to = first, from
	}
	d.follow(id, to, teller{d.batch}.measure(d.batch.cluster(id).lead, d.batch.cluster(to).lead))
}

// ownStory makes a telling the first of a story.
func (d *decision) ownStory() {
	d.expected(d.leadOf(d.req.Cluster, "cluster"))
	if d.item = 0; d.batch.cluster(d.cluster).follows == 0 {
		d.conflict("cluster %d is the first telling of its story", d.cluster)
	}
	d.follow(d.cluster, 0, 0)
}

// follow lets a cluster follow another one.
func (d *decision) follow(id, to uint32, adds int) {
	c := d.batch.cluster(id)
	c.follows, c.adds = to, adds
	d.direct(id, c.cell())
}

// unite makes a telling, led by an item, part of another one, and their stories one.
func (d *decision) unite(from, lead, to uint32) {
	was, path := d.batch.cluster(from), d.path(to)
	first := d.batch.cluster(last(d.path(from)))
	switch {
	case slices.Contains(path, from): // what follows it takes its place
		d.follow(to, was.follows, was.adds)
	case first.id != from && first.id != last(path): // its story goes along
		d.follow(first.id, to, teller{d.batch}.measure(first.lead, d.batch.cluster(to).lead))
	}
	d.direct(from, cell{Lead: lead, Merged: to, Follows: to})
}

// tellMoved emits an event for the lead of each telling that follows another one by a decision, and had no event. For
// a telling without a lead it is that of the first telling behind it: readers of events learn of the move by some item.
func (d *decision) tellMoved() {
	for _, id := range d.moved {
		lead, merged := d.x.clusters.Own(id)
		if lead == 0 {
			for _, t := range must.Get(stories.Tellings(d.ctx, d.x.w, id)) {
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
		c := changeOf{eventRow{at: millis(d.req.At), verdict: v.state.verdict, previous: v.state.verdict,
			cause: CauseEditor, rule: v.state.rule, of: ordinalOrNull(v.state.of),
			cluster: d.x.clusters.Resolve(v.state.cluster), revision: v.state.revision, note: textOrNull(d.note)},
			&v.itemRow}
		if d.req.Kind == Undo { // the verdict's reason and comparison count again, not the decision
			is := d.reason(lead)
			d.bringBack(&c.event, cmp.Or(is.Restores, is.Number))
		}
		d.changes = append(d.changes, c)
		d.events = append(d.events, d.emit(c.event, c.item))
	}
}
