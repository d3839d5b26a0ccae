package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/internal/must"
)

func (x *catalogue) decide(ctx context.Context, last message, req DecisionRequest, then func(*batch)) (out *Decision,
	err error) {
	if req.By == "" {
		return nil, verdict.Wrong(ErrQuery, "by", "is missing: a decision has a name")
	}
	err = x.apply(ctx, last, func(b *batch) {
		d := &decision{batch: b, req: req, note: req.By}
		if req.Reason != "" {
			d.note += verdict.NoteSeparator.In(x.cfg.Language) + req.Reason
		}
		d.apply()
		d.emitChanges()
		out = d.log()
		then(b)
	})
	if err != nil {
		return nil, err
	}
	for _, e := range out.Events {
		x.metrics.observe([]Outcome{{Changed: true, Event: e}})
	}
	return out, nil
}

func (d *decision) apply() {
	apply := map[string]func(){
		Release: d.release, Reject: d.reject, Block: d.block, Exempt: d.exempt, Merge: d.merge, Join: d.joinStories,
		Split: d.splitStory, MakeLead: d.makeLead, Undo: d.undo,
	}[d.req.Kind]
	switch {
	case len(d.req.Items) > 0:
		d.decideTogether()
	case apply == nil:
		kinds := []string{Release, Reject, Block, Exempt, Merge, Join, Split, MakeLead, Undo}
		must.Do(verdict.Wrong(ErrQuery, "kind", "is %q, want one of %s", d.req.Kind, strings.Join(kinds, ", ")))
	default:
		apply()
	}
}

// log appends the decision to the catalogue.
func (d *decision) log() *Decision {
	var number uint64
	must.Do(d.query(`SELECT coalesce(max(number), 0) + 1 FROM decisions`).Scan(&number))
	effects := must.Get(json.Marshal(d.effects))
	d.exec(`INSERT INTO decisions (number, at, by, kind, cluster, item, other, reason, effects)
		VALUES (?,?,?,?,?,?,nullif(?,0),?,?)`,
		[]any{number, millis(d.req.At), d.req.By, d.req.Kind, d.cluster, ordinalOrNull(d.item), d.other, d.req.Reason,
			string(effects)}, "decision %d", number)
	for _, item := range d.items {
		d.exec(`INSERT INTO decision_items (item, decision) VALUES (?,?)`, []any{item, number},
			"item %d of decision %d", item, number)
	}
	return &Decision{Number: number, At: d.req.At.UTC().Truncate(time.Millisecond), By: d.req.By, Kind: d.req.Kind,
		Cluster: d.cluster, Item: d.req.Item, Count: len(d.items), Other: d.other, Reason: d.req.Reason,
		Events: d.events}
}

// setAside sets the earlier text of a suspect aside if it has met too many in this minute, and not all at once: a
// decision of the service itself, which editors can undo. Revisions of an id do not count.
func (b *batch) setAside(r *itemRow) {
	var ofSource sql.NullInt64
	if r.verdict == Suspect {
		of := b.query(`SELECT source FROM items WHERE ordinal = ?`, r.of.Int64)
		must.Dof(of.Scan(&ofSource), "source of ordinal %d", r.of.Int64)
	}
	met, p := b.x.flood.count(r.arrivedAt, r.verdict, uint32(r.of.Int64), r.source, ofSource), &b.x.policy
	if p.Flood == 0 || met.n < p.Flood || r.arrivedAt-met.first < p.FloodSpan.Milliseconds() {
		return
	}
	v := b.version(uint32(r.of.Int64))
	req := DecisionRequest{Kind: Aside, Item: v.id, By: "jianguo", At: time.UnixMilli(r.arrivedAt),
		Reason: fmt.Sprintf("%d suspects in a minute", met.n)}
	d := &decision{batch: b, cluster: b.x.clusters.Resolve(v.current.cluster), item: v.ordinal, req: req}
	d.addFlag(v, resident.Aside)
	d.log()
	b.asides = append(b.asides, v.id)
}
