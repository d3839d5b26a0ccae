package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"jianguo/index/bands"
	"jianguo/index/resident"
	"jianguo/index/verdict"
	"jianguo/simhash"
	"jianguo/sketch"
)

// proposal is an exemplar that an item may be a copy of, and how it was met.
type proposal struct {
	ordinal  uint32
	rule     Rule
	distance int     // bits; -1: met otherwise, fingerprint not known
	s        float32 // S from the item's margins; -1 likewise
}

// judgement is the verdict of an item before it has a row. of is 0 where
// nothing earlier has to do with it.
type judgement struct {
	verdict     Verdict
	rule        Rule
	of          uint32 // the lead, or the blocked exemplar
	cluster     uint32 // 0: its own
	series      uint32
	distance    int
	s           float32
	resemblance float32 // NaN: not measured
	facts       *Facts
}

// rows is what judging reads of the catalogue: the writer's statements, which
// see the batch that is being applied, or a reader's.
type rows interface {
	exact(ctx context.Context, ordinal uint32) ([]byte, error)
	sketch(ctx context.Context, ordinal uint32) ([]byte, error)
	sketches(ctx context.Context, ordinals []uint32, f func(ordinal uint32, encoded []byte) error) error
	text(ctx context.Context, ordinal uint32) (keptText, error)
	standing(ctx context.Context, ordinal uint32) (source string, rule Rule, err error)
}

// reader is what rows are read with: by the writer, or beside it.
type reader struct{ exactByOrdinal, sketchOf, sketchesOf, textByOrdinal, standingOf, idByOrdinal *sql.Stmt }

func (r *reader) exact(ctx context.Context, ordinal uint32) (exact []byte, err error) {
	return exact, r.exactByOrdinal.QueryRowContext(ctx, ordinal).Scan(&exact)
}

func (r *reader) sketch(ctx context.Context, ordinal uint32) (b []byte, err error) {
	return b, r.sketchOf.QueryRowContext(ctx, ordinal).Scan(&b)
}

func (r *reader) sketches(ctx context.Context, ordinals []uint32, f func(ordinal uint32, encoded []byte) error) error {
	return sketchesOf(ctx, r.sketchesOf, ordinals, f)
}

func (r *reader) text(ctx context.Context, ordinal uint32) (t keptText, err error) {
	return t, t.scan(r.textByOrdinal.QueryRowContext(ctx, ordinal))
}

// keptText is a text as it lies in the catalogue.
type keptText struct {
	title     string
	packed    []byte
	published sql.NullInt64 // milliseconds since 1970
}

func (t *keptText) scan(r *sql.Row) error { return r.Scan(&t.title, &t.packed, &t.published) }

// What rows are read with; %s is overlay.compared.
const (
	idQuery     = `SELECT id FROM items WHERE ordinal = ?`
	exactQuery  = `SELECT exact FROM %s WHERE ordinal = ?`
	sketchQuery = `SELECT sketch FROM %s WHERE ordinal = ?`
	textQuery   = `SELECT i.title, t.body, i.published_at FROM items i JOIN texts t ON t.ordinal = i.ordinal WHERE i.ordinal = ?`
)

// sketchesAtOnce is how many sketches one query reads: of 64, one at a time,
// most of the time is the way to SQLite and back.
const sketchesAtOnce = 32

var sketchesQuery = `SELECT ordinal, sketch FROM %s WHERE ordinal IN (?` + strings.Repeat(`,?`, sketchesAtOnce-1) + `)`

// sketchesOf calls f for those of the ordinals that have a row.
func sketchesOf(ctx context.Context, stmt *sql.Stmt, ordinals []uint32, f func(ordinal uint32, encoded []byte) error) error {
	for part := range slices.Chunk(ordinals, sketchesAtOnce) {
		args := make([]any, sketchesAtOnce)
		for i := range args {
			args[i] = part[min(i, len(part)-1)]
		}
		rows, err := stmt.QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		for rows.Next() {
			var ordinal uint32
			var encoded sql.RawBytes
			if err = rows.Scan(&ordinal, &encoded); err == nil {
				err = f(ordinal, encoded)
			}
			if err != nil {
				return errors.Join(err, rows.Close())
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

func newReader(ctx context.Context, db *sql.DB, compared string) (*reader, error) {
	r := new(reader)
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{{&r.exactByOrdinal, fmt.Sprintf(exactQuery, compared)}, {&r.sketchOf, fmt.Sprintf(sketchQuery, compared)},
		{&r.sketchesOf, fmt.Sprintf(sketchesQuery, compared)}, {&r.textByOrdinal, textQuery},
		{&r.standingOf, standingQuery}, {&r.idByOrdinal, idQuery}} {
		var err error
		if *p.stmt, err = db.PrepareContext(ctx, p.text); err != nil {
			return nil, fmt.Errorf("prepare %q: %w", p.text, err) // closed with db
		}
	}
	return r, nil
}

// exactKey is the part of an exact hash that the resident look-up knows.
func exactKey(exact []byte) uint64 { return binary.LittleEndian.Uint64(exact) }

// target is what a proposal stands for: the cluster it belongs to now, and
// that cluster's lead or the blocked exemplar itself.
type target struct {
	cluster, lead uint32
	blocked       bool
}

// target resolves a proposal; false where nothing living stands behind it: its
// cluster has no lead any more, its time is over, or it is the item itself.
func (x *Index) target(ordinal, at uint32, own map[uint32]bool) (target, bool) {
	f := x.rows.Flags(ordinal)
	c := x.rows.Cluster(ordinal)
	if f == 0 || c == 0 || own[ordinal] {
		return target{}, false
	}
	cluster, lead := x.clusters.Lead(c)
	if !x.alive(ordinal, cluster, at) {
		return target{}, false
	}
	if f&resident.Blocked != 0 {
		return target{cluster: cluster, lead: ordinal, blocked: true}, true
	}
	if lead == 0 || own[lead] {
		return target{}, false
	}
	return target{cluster: cluster, lead: lead, blocked: x.rows.Flags(lead)&resident.Blocked != 0}, true
}

// alive applies retention: by arrival, so that the same stream gives the same
// verdicts whenever the sweep runs.
func (x *Index) alive(ordinal, cluster, at uint32) bool {
	window, limit := x.policy.Window.Seconds(), x.policy.Cap.Seconds()
	born := x.rows.Arrived(ordinal)
	last := max(x.rows.Touched(cluster), born)
	return float64(at) <= float64(last)+window && float64(at) <= float64(born)+limit
}

// judgeText gives an article its verdict against everything indexed but the
// versions of itself, whoever its source is. v is what was found out
// beforehand, nil for nothing.
func (x *Index) judgeText(ctx context.Context, r rows, a *Article, at uint32, own map[uint32]bool, v *preview) (judgement, error) {
	alone := judgement{verdict: Unique, distance: -1, s: -1, resemblance: float32(math.NaN())}
	if a.Blank {
		return alone, nil
	}
	if j, ok, err := x.judgeExact(ctx, r, a, at, own); ok || err != nil {
		return j, err
	}
	if x.policy.Rules == RulesHamming {
		if j, ok := x.judgeHamming(a, at, own); ok {
			return j, nil
		}
		return alone, nil
	}
	proposals, m := x.recall(a, v)
	j, err := x.judgeAll(ctx, r, a, proposals, at, own, m)
	x.metrics.judged.Observe(float64(len(m.sketches) + len(m.strangers)))
	x.metrics.looked.Observe(float64(len(m.texts)))
	if err != nil || j.verdict == 0 {
		return alone, err
	}
	return j, nil
}

// judgeExact looks for the same normal form, rejected copies included. A
// blocked text wins over a living one, then the oldest.
func (x *Index) judgeExact(ctx context.Context, r rows, a *Article, at uint32, own map[uint32]bool) (judgement, bool, error) {
	var buf [16]uint32
	var best target
	for _, ordinal := range x.exacts.Get(buf[:0], exactKey(a.Exact[:])) {
		t, ok := x.target(ordinal, at, own)
		if !ok || best.lead != 0 && (best.blocked && !t.blocked || best.blocked == t.blocked && best.lead <= t.lead) {
			continue
		}
		exact, err := r.exact(ctx, ordinal)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return judgement{}, false, fmt.Errorf("exact hash of ordinal %d: %w", ordinal, err)
		}
		if string(exact) == string(a.Exact[:]) {
			best = t
		}
	}
	if best.lead == 0 {
		return judgement{}, false, nil
	}
	j := judgement{verdict: Duplicate, rule: ByExact, of: best.lead, cluster: best.cluster, distance: 0, s: 0, resemblance: 1,
		facts: &Facts{Reason: "exact"}}
	if best.blocked {
		j.rule = ByBlocked
	}
	return j, true, nil
}

// judgeHamming is the textbook: the nearest exemplar within the distance, the
// oldest of several, is the original.
func (x *Index) judgeHamming(a *Article, at uint32, own map[uint32]bool) (judgement, bool) {
	if a.Print.Empty() {
		return judgement{}, false
	}
	var buf [32]bands.Hit
	best, bestHit, bestDistance := target{}, bands.Hit{}, simhash.Bits
	for _, h := range x.bands.Hamming(buf[:0], a.Print.Fingerprint, x.policy.Distance) {
		d := simhash.Distance(h.Fingerprint, a.Print.Fingerprint)
		if d > bestDistance || d == bestDistance && best.lead != 0 && h.Ordinal > bestHit.Ordinal {
			continue
		}
		if t, ok := x.target(h.Ordinal, at, own); ok {
			best, bestHit, bestDistance = t, h, d
		}
	}
	if best.lead == 0 {
		return judgement{}, false
	}
	j := judgement{verdict: Duplicate, rule: ByHamming, of: best.lead, cluster: best.cluster, distance: bestDistance,
		s: a.Print.S(bestHit.Fingerprint), resemblance: float32(math.NaN()), facts: &Facts{Reason: "distance"}}
	if best.blocked {
		j.rule = ByBlocked
	}
	return j, true
}

// verdictOf turns the judgement of one pair into a verdict.
func (x *Index) verdictOf(k sketch.Judgement, c sketch.Comparison, p proposal, t target) judgement {
	j := judgement{rule: p.rule, of: t.lead, distance: p.distance, s: p.s, resemblance: c.Resemblance,
		facts: &Facts{Reason: k.Reason, Score: verdict.Round(k.Score, 1000), Numbers: c.Facts.Numbers, Shared: c.Facts.NumbersShared, Agree: c.Facts.Agree, Conflict: c.Facts.Conflict}}
	switch k.Kind {
	case sketch.Duplicate:
		j.verdict, j.cluster = Duplicate, t.cluster
		if t.blocked {
			j.rule = ByBlocked
		}
	case sketch.Suspect:
		j.verdict = Suspect
		if x.policy.Suspects == SuspectsReject {
			j.verdict, j.cluster, j.rule = Duplicate, t.cluster, BySuspected
		}
	case sketch.Series:
		j.verdict, j.series = Unique, t.lead
	}
	return j
}

// Check is the verdict an article would get now. It changes nothing, and runs
// beside the writer.
func (x *Index) Check(ctx context.Context, a *Article, at uint32) (Event, error) {
	if err := ctx.Err(); err != nil {
		return Event{}, fmt.Errorf("index: check: %w", err)
	}
	ctx = context.WithoutCancel(ctx) // see Preview
	j, err := x.judge(ctx, x.beside, a, at, nil, nil)
	if err != nil {
		return Event{}, fmt.Errorf("index: check: %w", err)
	}
	e := Event{ID: a.ID, Revision: a.Revision, Verdict: j.verdict, Cause: CauseIngest, Rule: j.rule, Cluster: j.cluster, Series: j.series,
		Facts: j.facts, Fingerprint: a.Print.Fingerprint.String(), Recipe: x.recipe, Policy: x.stampHash(x.policyStamp)}
	if j.of != 0 {
		if err := x.beside.idByOrdinal.QueryRowContext(ctx, j.of).Scan(&e.Of); err != nil {
			return Event{}, fmt.Errorf("index: check: ordinal %d: %w", j.of, err)
		}
		e.Measure(j.distance, j.s, j.resemblance)
	}
	e.Why = Why(&e, x.cfg.Language)
	return e, nil
}
