package index

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"jianguo/index/match"
	"jianguo/index/resident"
)

// publish applies one published article.
func (b *batch) publish(m *Mutation) (Outcome, error) {
	a := m.Article
	prev, err := b.find(a.ID)
	if err != nil {
		return Outcome{}, err
	}
	if prev != nil {
		if done, err := b.nothingNew(prev, a, m.Seq); done || err != nil {
			if err != nil {
				return Outcome{}, err
			}
			return b.unchanged(prev)
		}
	}
	j, err := b.judge(m, prev != nil)
	if err != nil {
		return Outcome{}, err
	}
	r, err := b.row(m, &j)
	if err != nil {
		return Outcome{}, err
	}
	cause := CauseIngest
	var previous Verdict
	if prev != nil {
		cause, previous = CauseRevision, prev.state.verdict
		if r.revision == 0 {
			r.revision = prev.state.revision
		}
		r.cluster = b.inherited(prev, &j, r.cluster)
	}
	if err := b.insert(r, a); err != nil {
		return Outcome{}, err
	}
	ev, err := b.emit(eventRow{at: r.arrivedAt, verdict: r.verdict, previous: previous, cause: cause, rule: r.rule, of: r.of,
		cluster: r.cluster, revision: r.revision}, r)
	if err != nil {
		return Outcome{}, err
	}
	if prev != nil {
		if err := b.supersede(prev, r); err != nil {
			return Outcome{}, err
		}
	}
	switch {
	case r.verdict == Duplicate:
		err = b.join(r.cluster, r.ordinal, r.arrivedAt)
	case r.rule == ByPreference:
		err = b.takeOver(r)
	}
	return Outcome{Changed: true, Event: ev}, err
}

// judge judges a published article, never against another version of a known id.
func (b *batch) judge(m *Mutation, known bool) (j match.Judgement, err error) {
	a := m.Article
	var own map[uint32]bool
	if known {
		if own, err = b.versions(a.ID); err != nil {
			return j, err
		}
	}
	q := match.Query{Article: a, At: seconds(m.At), Except: own}
	q.Preview, _ = a.Preview.(*match.Preview)
	if b.x.trusting {
		return b.x.matcher.ExactOnly(b.ctx, b.x.w.Reader, q)
	}
	return b.x.judge(b.ctx, &b.x.w.readers, q)
}

// nothingNew reports whether a publish of a known id changes nothing: it is older
// than the stored version, or has the same content. A higher revision with the
// same content is stored.
func (b *batch) nothingNew(prev *version, a *Article, seq uint64) (bool, error) {
	known := prev.state.revision
	if a.Revision != 0 && a.Revision <= known {
		return true, nil
	}
	if prev.state.verdict == Withdrawn {
		// Only a higher revision brings a withdrawn item back.
		return a.Revision <= known, nil
	}
	same := a.Title == prev.title && (a.Blank && prev.form.Exact == nil || bytes.Equal(a.Exact[:], prev.form.Exact))
	if same && a.Revision > known {
		s := prev.state
		s.revision, s.seq = a.Revision, seq
		return true, b.setState(prev, prev.flags, s)
	}
	return same, nil
}

// inherited returns the cluster of a new version. An accepted revision of a lead
// leads the same cluster.
func (b *batch) inherited(prev *version, j *match.Judgement, cluster uint32) uint32 {
	if j.Verdict == Duplicate || j.Rule == ByPreference {
		return cluster
	}
	c, lead := b.x.clusters.Lead(prev.state.cluster)
	if lead == prev.ordinal {
		return c
	}
	return cluster
}

// row returns the items row of a new version.
func (b *batch) row(m *Mutation, j *match.Judgement) (*itemRow, error) {
	a := m.Article
	r := &itemRow{
		ordinal: b.ordinal, id: a.ID, seq: m.Seq, revision: a.Revision, title: a.Title,
		arrivedAt: millis(m.At), fingerprint: int64(a.Print.Fingerprint), recipe: b.x.recipeStamp, policy: b.x.policyStamp,
		verdict: j.Verdict, rule: j.Rule, of: ordinalOrNull(j.Of), cluster: j.Cluster, series: ordinalOrNull(j.Series),
	}
	if r.cluster == 0 {
		r.cluster = r.ordinal
	}
	if a.URL != "" {
		r.url = sql.NullString{String: a.URL, Valid: true}
	}
	if !a.Published.IsZero() {
		r.publishedAt = sql.NullInt64{Int64: millis(a.Published), Valid: true}
	}
	if !a.Blank {
		r.exact = a.Exact[:]
		r.sketch = a.Sketch.AppendBinary(nil)
	}
	if j.Of != 0 {
		r.distance = sql.NullInt64{Int64: int64(j.Distance), Valid: j.Distance >= 0}
		r.margin = sql.NullFloat64{Float64: float64(j.S), Valid: j.S >= 0}
		r.resemblance = sql.NullFloat64{Float64: float64(j.Resemblance), Valid: !math.IsNaN(float64(j.Resemblance))}
		if j.Facts != nil {
			text, err := json.Marshal(j.Facts)
			if err != nil {
				return nil, fmt.Errorf("evidence: %w", err)
			}
			r.evidence = sql.NullString{String: string(text), Valid: true}
		}
	}
	var err error
	r.source, err = b.sourceNumber(a.Source)
	return r, err
}

// supersede marks the earlier version of an item as superseded by r, the new one.
func (b *batch) supersede(prev *version, r *itemRow) error {
	was := prev.state
	cluster, lead := b.x.clusters.Lead(was.cluster)
	f := prev.flags | resident.Superseded
	if f&resident.Blocked != 0 {
		// The source revoked its takedown.
		f &^= resident.Blocked
	}
	if err := b.setState(prev, f, was); err != nil {
		return err
	}
	switch {
	case was.verdict == Duplicate:
		return b.leave(was.cluster, prev.ordinal)
	case lead != prev.ordinal:
		return nil
	case r.verdict != Duplicate && r.rule != ByPreference:
		return b.succeed(cluster, prev.ordinal, r.ordinal)
	case was.verdict == Withdrawn:
		return b.vacate(cluster, prev.ordinal)
	}
	return b.promote(cluster, prev.ordinal, r.arrivedAt)
}

// withdraw applies one withdrawal.
func (b *batch) withdraw(m *Mutation) (Outcome, error) {
	w := m.Withdraw
	v, err := b.find(w.ID)
	if err != nil {
		return Outcome{}, err
	}
	if v == nil {
		return b.tombstone(m)
	}
	if w.Revision != 0 && w.Revision <= v.state.revision {
		return b.unchanged(v)
	}
	was, f := v.state, v.flags
	next := was
	next.verdict, next.rule, next.of, next.seq = Withdrawn, NoRule, 0, m.Seq
	next.revision = max(w.Revision, was.revision)
	cluster, lead := b.x.clusters.Lead(was.cluster)
	leads := lead == v.ordinal
	if was.verdict.Accepted() && !w.Promote && f&resident.Blank == 0 {
		f |= resident.Blocked
	}
	if was.verdict == Withdrawn {
		// Withdrawn before: only the revision changes.
		if next.revision > was.revision {
			if err := b.setState(v, v.flags, next); err != nil {
				return Outcome{}, err
			}
		}
		return b.unchanged(v)
	}
	if err := b.setState(v, f, next); err != nil {
		return Outcome{}, err
	}
	e := eventRow{at: millis(m.At), verdict: Withdrawn, previous: was.verdict, cause: CauseWithdrawal, cluster: was.cluster, revision: next.revision}
	if w.Reason != "" {
		e.note = sql.NullString{String: w.Reason, Valid: true}
	}
	ev, err := b.emit(e, &v.itemRow)
	if err != nil {
		return Outcome{}, err
	}
	switch {
	case was.verdict == Duplicate:
		err = b.leave(was.cluster, v.ordinal)
	case leads && w.Promote:
		err = b.promote(cluster, v.ordinal, millis(m.At))
	case leads && f&resident.Blocked == 0:
		err = b.vacate(cluster, v.ordinal)
	}
	return Outcome{Changed: true, Event: ev}, err
}

// tombstone stores the withdrawal of an item that has not arrived.
func (b *batch) tombstone(m *Mutation) (Outcome, error) {
	w := m.Withdraw
	r := &itemRow{
		ordinal: b.ordinal, cluster: b.ordinal, id: w.ID, seq: m.Seq, revision: w.Revision, arrivedAt: millis(m.At),
		recipe: b.x.recipeStamp, policy: b.x.policyStamp, verdict: Withdrawn,
	}
	if err := b.insert(r, nil); err != nil {
		return Outcome{}, err
	}
	if err := b.vacate(r.cluster, r.ordinal); err != nil {
		return Outcome{}, err
	}
	e := eventRow{at: r.arrivedAt, verdict: Withdrawn, cause: CauseWithdrawal, cluster: r.cluster, revision: r.revision}
	if w.Reason != "" {
		e.note = sql.NullString{String: w.Reason, Valid: true}
	}
	ev, err := b.emit(e, r)
	return Outcome{Changed: true, Event: ev}, err
}

// takeOver makes r, the new version of a preferred source, the lead of its
// cluster. It replaces the version that r is a copy of.
func (b *batch) takeOver(r *itemRow) error {
	old, err := b.version(uint32(r.of.Int64))
	if err != nil {
		return err
	}
	source, _, err := b.x.w.standing(b.ctx, old.ordinal)
	if err != nil {
		return err
	}
	previous := old.state.verdict
	next := old.state
	next.rule, next.of = ByPreference, r.ordinal
	if b.x.policies.InForce()[source] != SourceLicensed {
		if err := errors.Join(b.join(r.cluster, r.ordinal, r.arrivedAt), b.setLead(r.cluster, r.ordinal)); err != nil {
			return err
		}
		next.verdict = Duplicate
	} else {
		// A licensed lead is never rejected. It leads a cluster of its own, whose
		// id is the ordinal of r: no other cluster will ever have that id.
		if err := b.join(r.cluster, r.ordinal, r.arrivedAt); err != nil {
			return err
		}
		if err := errors.Join(b.leave(r.cluster, old.ordinal), b.setLead(r.cluster, r.ordinal)); err != nil {
			return err
		}
		at := old.arrivedAt
		if err := b.setCluster(clusterRow{id: r.ordinal, lead: old.ordinal, size: 1, first: at, last: at}); err != nil {
			return err
		}
		next.verdict, next.rule, next.cluster = Unique, ByLicence, r.ordinal
	}
	if err := b.setState(old, old.flags, next); err != nil {
		return err
	}
	_, err = b.emit(eventRow{at: r.arrivedAt, verdict: next.verdict, previous: previous, cause: CausePromotion, rule: next.rule,
		of: ordinalOrNull(next.of), cluster: next.cluster, revision: next.revision}, &old.itemRow)
	return err
}
