package index

import (
	"cmp"
	"database/sql"
	"encoding/json"

	"jianguo/index/match"
	"jianguo/index/resident"
	"jianguo/internal/must"
)

func (b *batch) publish(m *Mutation) Outcome {
	a := m.Article
	q, prev := b.x.query(b.ctx, &b.x.inBatch, a, seconds(m.At))
	if prev != nil && b.x.nothingNew(b.ctx, &b.x.inBatch, prev, a) {
		if s := prev.current; a.Revision > s.revision && s.verdict != Withdrawn { // with the same content
			s.revision, s.seq = a.Revision, m.Seq
			b.setCurrent(prev, prev.flags, s)
		}
		return b.unchanged(prev)
	}
	q.Comparisons, _ = a.Comparisons.(*match.Comparisons)
	j := b.x.judge(b.ctx, &b.x.inBatch, q)
	r := b.row(m, &j)
	cause := CauseIngest
	var previous Verdict
	if prev != nil {
		cause, previous = CauseRevision, prev.current.verdict
		r.revision = cmp.Or(r.revision, prev.current.revision)
		r.cluster = cmp.Or(b.x.inheritedCluster(b.ctx, &b.x.inBatch, prev, a, &j), r.cluster)
	}
	b.insert(r, a)
	b.tie(r, &j)
	if prev == nil {
		b.setAside(r)
	}
	ev := b.emit(eventRow{at: r.arrivedAt, verdict: r.verdict, previous: previous, cause: cause, rule: r.rule, of: r.of,
		cluster: r.cluster, revision: r.revision, story: sql.NullInt64{Valid: len(j.Tied) > 0}}, r)
	if prev != nil {
		b.supersede(prev, r)
	} else if j.Verdict == Unique && j.Of == 0 {
		b.learnBoilerplate(a, b.ordinal)
	}
	switch {
	case r.verdict == Duplicate:
		b.addCopy(r.cluster, r.ordinal, r.arrivedAt)
	case r.rule == ByPreference:
		b.takeOver(r)
	case r.rule == ByExempt:
		v := b.version(r.ordinal)
		b.setCurrent(v, v.flags&^resident.Exemplar, v.current)
	}
	return Outcome{Changed: true, Event: ev}
}

// row returns the items row of a new version.
func (b *batch) row(m *Mutation, j *match.Judgement) *itemRow {
	a := m.Article
	r := &itemRow{
		ordinal: b.ordinal, id: a.ID, seq: m.Seq, revision: a.Revision, title: a.Title, url: textOrNull(a.URL),
		arrivedAt: millis(m.At), fingerprint: int64(a.Print.Fingerprint), recipe: b.x.recipe.Load().stamp,
		policy: b.x.levelOf(a.Source).stamp, verdict: j.Verdict, rule: j.Rule, of: ordinalOrNull(j.Of),
		cluster: cmp.Or(j.Cluster, b.ordinal), series: ordinalOrNull(j.Series),
	}
	if !a.Published.IsZero() {
		r.publishedAt = sql.NullInt64{Int64: millis(a.Published), Valid: true}
	}
	if !a.Blank {
		r.exact = a.Exact[:]
		r.sketch = a.Sketch.AppendBinary(nil)
	}
	if j.Of != 0 {
		r.distance, r.margin, r.resemblance = j.Distance, j.S, j.Resemblance
		if j.Facts != nil {
			text, err := json.Marshal(j.Facts)
			must.Dof(err, "evidence")
			r.evidence = sql.NullString{String: string(text), Valid: true}
		}
	}
	r.source = b.sourceNumber(a.Source)
	return r
}

// supersede marks the earlier version of an item as superseded by r, the new one.
func (b *batch) supersede(prev *version, r *itemRow) {
	was := prev.current
	cluster, lead := b.x.clusters.Lead(was.cluster)
	// A takedown by the source is revoked.
	b.setCurrent(prev, (prev.flags|resident.Superseded)&^resident.Blocked, was)
	switch {
	case was.verdict == Duplicate:
		b.removeMember(was.cluster, prev.ordinal)
	case lead != prev.ordinal:
	case r.verdict != Duplicate && r.rule != ByPreference && r.cluster == cluster:
		b.replaceLead(cluster, prev.ordinal, r.ordinal)
	case was.verdict == Withdrawn:
		b.removeLead(cluster, prev.ordinal)
	default:
		b.promote(cluster, prev.ordinal, r.arrivedAt)
	}
}

func (b *batch) withdraw(m *Mutation) Outcome {
	w := m.Withdraw
	v := b.latest(w.ID)
	if v == nil {
		return b.tombstone(m)
	}
	if w.Revision != 0 && w.Revision < v.current.revision {
		return b.unchanged(v)
	}
	was, f := v.current, v.flags
	next := was
	next.verdict, next.rule, next.of, next.seq = Withdrawn, NoRule, 0, m.Seq
	next.revision = max(w.Revision, was.revision)
	cluster, lead := b.x.clusters.Lead(was.cluster)
	if was.verdict == Withdrawn && was.rule != ByEditor {
		// Withdrawn before, by its source: only the revision changes.
		if next.revision > was.revision {
			b.setCurrent(v, f, next)
		}
		return b.unchanged(v)
	}
	if was.verdict.Accepted() && !w.Promote && f&resident.Blank == 0 {
		f |= resident.Blocked
	}
	b.setCurrent(v, f, next)
	ev := b.emit(eventRow{at: millis(m.At), verdict: Withdrawn, previous: was.verdict, cause: CauseWithdrawal,
		cluster: was.cluster, revision: next.revision, note: textOrNull(w.Reason)}, &v.itemRow)
	switch {
	case was.verdict == Duplicate:
		b.removeMember(was.cluster, v.ordinal)
	case lead != v.ordinal || f&resident.Blocked != 0:
	case w.Promote:
		b.promote(cluster, v.ordinal, millis(m.At))
	default:
		b.removeLead(cluster, v.ordinal)
	}
	return Outcome{Changed: true, Event: ev}
}

// tombstone stores the withdrawal of an item that has not arrived.
func (b *batch) tombstone(m *Mutation) Outcome {
	w := m.Withdraw
	r := &itemRow{
		ordinal: b.ordinal, cluster: b.ordinal, id: w.ID, seq: m.Seq, revision: w.Revision, arrivedAt: millis(m.At),
		recipe: b.x.recipe.Load().stamp, policy: b.x.levels[""].stamp, verdict: Withdrawn,
	}
	b.insert(r, nil)
	b.removeLead(r.cluster, r.ordinal)
	return Outcome{Changed: true, Event: b.emit(eventRow{at: r.arrivedAt, verdict: Withdrawn, cause: CauseWithdrawal,
		cluster: r.cluster, revision: r.revision, note: textOrNull(w.Reason)}, r)}
}

// takeOver makes r, the new version of a preferred source, the lead of its
// cluster. It replaces the version that r is a copy of.
func (b *batch) takeOver(r *itemRow) {
	old := b.version(uint32(r.of.Int64))
	source, _ := must.Get2(sourceAndRule(b.ctx, b.x.conn, old.ordinal))
	previous := old.current.verdict
	next := old.current
	next.rule, next.of = ByPreference, r.ordinal
	b.addCopy(r.cluster, r.ordinal, r.arrivedAt)
	if b.x.policyOf(source).Policy != SourceLicensed {
		b.setLead(r.cluster, r.ordinal)
		next.verdict = Duplicate
	} else {
		// A licensed lead is never rejected. It leads a cluster of its own, whose
		// id is the ordinal of r: no other cluster will ever have that id.
		b.removeMember(r.cluster, old.ordinal)
		b.setLead(r.cluster, r.ordinal)
		b.setCluster(clusterRow{id: r.ordinal, lead: old.ordinal, follows: r.cluster, size: 1, first: old.arrivedAt,
			last: old.arrivedAt})
		next.verdict, next.rule, next.cluster = Unique, ByLicence, r.ordinal
	}
	b.setCurrent(old, old.flags, next)
	b.emit(eventRow{at: r.arrivedAt, verdict: next.verdict, previous: previous, cause: CausePromotion, rule: next.rule,
		of: ordinalOrNull(next.of), cluster: next.cluster, revision: next.revision}, &old.itemRow)
}
