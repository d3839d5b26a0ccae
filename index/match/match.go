// Package match finds which earlier text an article is a copy of.
//
// Proposals are exemplars that share something with the article: the same normal
// form, a near fingerprint, MinHash keys, a passage (search.go). Each is compared
// with the article, first by sketches, the most likely ones then by texts, and the
// best judgement decides (candidates.go). Comparing is the expensive part, so it
// can be done ahead of time, beside the writer (ahead.go).
//
// A Matcher reads what is resident, and rows of the catalogue through a Reader. All
// methods may run beside one writer and each other; those that say "writer only" are
// for the writer.
package match

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"jianguo/compare"
	"jianguo/compare/reason"
	"jianguo/index/bands"
	"jianguo/index/resident"
	"jianguo/index/sources"
	"jianguo/index/verdict"
	"jianguo/simhash"
)

// Config is what a Matcher searches. All but Normal, Original and Metrics is required.
type Config struct {
	resident.Tables
	Clusters *resident.Clusters
	// Normal makes the normal form of a kept text, Original what is quoted of it; nil: the body is both. They are
	// called from several goroutines.
	Normal   func(title, body string) compare.Text
	Original func(title, body string) *reason.Original
	// Boilerplate is what carries no weight in the texts of each source.
	Boilerplate *sources.Boilerplate
	Metrics     prometheus.Registerer // nil: they are not shown
}

// Matcher finds which earlier text an article is a copy of.
type Matcher struct {
	policy *verdict.Policy
	*shared
}

// shared is what Matchers with different policies have in common.
type shared struct {
	Config
	*exemplars
	generation atomic.Uint64 // when it changes, ordinals may stand for other texts
	metrics    metrics
}

// New returns a Matcher that judges by a policy.
func New(p verdict.Policy, c Config) *Matcher {
	if c.Normal == nil {
		c.Normal = func(_, body string) compare.Text { return compare.Text{Body: body} }
	}
	if c.Original == nil {
		c.Original = func(_, body string) *reason.Original {
			return &reason.Original{Text: body, Form: body, Origin: func(i int) (int, int) { return i, i + 1 }}
		}
	}
	return &Matcher{&p, &shared{Config: c, exemplars: newExemplars(&c), metrics: newMetrics(c.Metrics)}}
}

// WithPolicy returns a Matcher with another policy, which shares all else with m.
func (m *Matcher) WithPolicy(p verdict.Policy) *Matcher { return &Matcher{&p, m.shared} }

// Query is an article that is to be judged.
type Query struct {
	Article     *verdict.Article
	At          uint32          // when it arrived, in seconds since 1970
	Before      uint32          // it is compared with lower ordinals only; 0: with all
	Except      map[uint32]bool // ordinals that it is not compared with: versions of its own id
	Comparisons *Comparisons    // of CompareAhead; nil: none; writer only
}

// excludes reports whether the article is not compared with a version.
func (q *Query) excludes(ordinal uint32) bool {
	return q.Before != 0 && ordinal >= q.Before || q.Except[ordinal]
}

// Judgement is the verdict on an article by its text. Of is 0 where no earlier
// text has to do with it.
type Judgement struct {
	Verdict verdict.Verdict
	Rule    verdict.Rule
	Of      uint32 // the lead, or the blocked exemplar
	Cluster uint32 // 0: its own
	Series  uint32
	// Distance, in bits, S and Resemblance are nil where they were not measured.
	Distance       *int
	S, Resemblance *float32
	Facts          *reason.Facts
	// Tied are clusters that tell of the same matter: the one that the article was judged against, or shares most
	// with, then others.
	Tied []uint32
}

// Judge judges an article against all exemplars.
func (m *Matcher) Judge(ctx context.Context, r *Reader, q Query) (Judgement, error) {
	if q.Article.Blank {
		return Judgement{Verdict: verdict.Unique}, nil
	}
	if j, ok, err := m.exactCopy(ctx, r, &q); ok || err != nil {
		return j, err
	}
	if m.policy.Rules == verdict.RulesHamming {
		return m.nearestCopy(&q), nil
	}
	c := comparing{Matcher: m, reader: r, query: &q, known: q.Comparisons.valid(m)}
	best, err := c.best(ctx, m.Propose(&q))
	m.metrics.onSketches.Observe(float64(c.onSketches))
	m.metrics.onTexts.Observe(float64(c.onTexts))
	m.metrics.tokens.Observe(float64(c.tokens))
	tied := c.tied(best)
	if err != nil || best == nil {
		return Judgement{Verdict: verdict.Unique, Tied: tied}, err
	}
	return m.conclude(best, tied), nil
}

// headlinesRead bounds the copies among which one with the same headline is looked for.
const headlinesRead = 16

// exactCopy looks for the same normal form, rejected copies included. A blocked
// text is preferred to a living one, then one with this headline, then the oldest.
func (m *Matcher) exactCopy(ctx context.Context, r *Reader, q *Query) (Judgement, bool, error) {
	var buf [16]uint32
	var best target
	untold, read := false, 0
	hash := q.Article.Exact[:]
	for _, ordinal := range m.Exacts.Get(buf[:0], resident.ExactKey(hash)) {
		t, ok := m.target(ordinal, q)
		if !ok || best.lead != 0 && (best.blocked && !t.blocked || best.blocked == t.blocked && (!untold ||
			read >= headlinesRead) && best.lead <= t.lead) {
			continue
		}
		exact, title, err := r.readExact(ctx, ordinal)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return Judgement{}, false, fmt.Errorf("exact hash of ordinal %d: %w", ordinal, err)
		}
		if string(exact) != string(hash) {
			continue
		}
		read++
		if other := q.Article.Text.Untold(q.Article.Title, title); best.lead == 0 || t.blocked && !best.blocked ||
			untold && !other || untold == other && t.lead < best.lead {
			best, untold = t, other
		}
	}
	if best.lead == 0 {
		return Judgement{}, false, nil
	}
	j := Judgement{Verdict: verdict.Duplicate, Rule: verdict.ByExact, Of: best.lead, Cluster: best.cluster,
		Distance: new(0), S: new(float32(0)), Resemblance: new(float32(1)), Tied: []uint32{best.cluster},
		Facts: &reason.Facts{Reason: compare.Exact}}
	if j = best.applyDecisions(j); untold && j.Rule == verdict.ByExact {
		j.Facts.Reason = compare.Headlines
		j = m.suspect(j, &best)
	}
	return j, true, nil
}

// nearestCopy is the textbook rule: the original is the nearest exemplar within
// the distance, the oldest of several.
func (m *Matcher) nearestCopy(q *Query) Judgement {
	print := &q.Article.Print
	if print.Empty() {
		return Judgement{Verdict: verdict.Unique}
	}
	var buf [32]bands.Hit
	best, bestHit, bestDistance := target{}, bands.Hit{}, simhash.Bits
	for _, h := range m.Bands.Hamming(buf[:0], print.Fingerprint, m.policy.Distance, math.MaxInt) {
		d := simhash.Distance(h.Fingerprint, print.Fingerprint)
		if d > bestDistance || d == bestDistance && best.lead != 0 && h.Ordinal > bestHit.Ordinal {
			continue
		}
		if t, ok := m.target(h.Ordinal, q); ok {
			best, bestHit, bestDistance = t, h, d
		}
	}
	if best.lead == 0 {
		return Judgement{Verdict: verdict.Unique}
	}
	j := Judgement{Verdict: verdict.Duplicate, Rule: verdict.ByHamming, Of: best.lead, Cluster: best.cluster,
		Distance: &bestDistance, S: new(print.S(bestHit.Fingerprint)), Tied: []uint32{best.cluster},
		Facts: &reason.Facts{Reason: reason.Distance}}
	return best.applyDecisions(j)
}

// applyDecisions applies decisions about the earlier text to the verdict on its duplicate: it is blocked, or exempt.
func (t *target) applyDecisions(j Judgement) Judgement {
	switch {
	case t.blocked:
		j.Rule = verdict.ByBlocked
	case t.exempt:
		j.Verdict, j.Rule, j.Cluster, j.Tied = verdict.Unique, verdict.ByExempt, 0, nil
	}
	return j
}

// conclude turns the judgement of one pair into a verdict.
func (m *Matcher) conclude(c *candidate, tied []uint32) Judgement {
	j := Judgement{Rule: c.Rule, Of: c.lead, Resemblance: &c.estimate.Resemblance, Facts: c.facts, Tied: tied}
	if c.Distance >= 0 {
		j.Distance, j.S = &c.Distance, &c.S
	}
	if c.judgement == nil { // too long: sketches make suspects at most
		return m.suspect(j, &c.target)
	}
	j.Resemblance = &c.judgement.Resemblance
	switch c.judgement.Kind {
	case compare.Duplicate:
		j.Verdict, j.Cluster = verdict.Duplicate, c.cluster
		j = c.target.applyDecisions(j)
	case compare.Suspect:
		j = m.suspect(j, &c.target)
	case compare.Series:
		j.Verdict, j.Series = verdict.Unique, c.lead
	}
	return j
}

// suspect turns a judgement into the verdict on a suspect, as the policy and what was set aside say.
func (m *Matcher) suspect(j Judgement, t *target) Judgement {
	switch j.Verdict, j.Cluster = verdict.Suspect, 0; {
	case m.policy.Suspects == verdict.SuspectsReject:
		j.Verdict, j.Cluster, j.Rule, j.Tied = verdict.Duplicate, t.cluster, verdict.BySuspected, []uint32{t.cluster}
	case t.aside:
		j.Verdict, j.Rule, j.Tied = verdict.Unique, verdict.ByAside, nil
	}
	return j
}

// target is what a proposal stands for: the cluster that it belongs to now, and
// that cluster's lead or the blocked exemplar itself.
type target struct {
	cluster, lead uint32
	blocked       bool
	exempt, aside bool // of the lead
}

// target resolves an exemplar. !ok: its cluster has no lead any more, its time is
// over, or it is a version of the article's own id.
func (m *Matcher) target(ordinal uint32, q *Query) (t target, ok bool) {
	f, c := m.Rows.Flags(ordinal), m.Rows.Cluster(ordinal)
	if f == 0 || c == 0 || q.excludes(ordinal) {
		return target{}, false
	}
	cluster, lead := m.Clusters.Lead(c)
	if !m.Rows.Alive(m.policy, ordinal, cluster, q.At) {
		return target{}, false
	}
	if f&resident.Blocked != 0 {
		lead = ordinal
	} else if lead == 0 || q.excludes(lead) {
		return target{}, false
	}
	of := m.Rows.Flags(lead)
	if of&(resident.Exemplar|resident.Blocked|resident.Blank) == 0 {
		return target{}, false // a copy of an exempt text: that one is met too
	}
	return target{cluster: cluster, lead: lead, blocked: of&resident.Blocked != 0, exempt: of&resident.Exempt != 0,
		aside: of&resident.Aside != 0}, true
}

// CompareBy empties the cache: versions are compared by another table from now on, which
// readers name. Writer only.
func (m *Matcher) CompareBy(compared string) {
	m.mu.Lock()
	m.compared = compared
	m.cache.Purge()
	m.mu.Unlock()
	m.DropComparisons()
}

// DropComparisons makes all Comparisons so far invalid, after a batch that failed: an ordinal may
// come to stand for another text. Writer only.
func (m *Matcher) DropComparisons() { m.generation.Add(1) }

type metrics struct{ onSketches, onTexts, tokens prometheus.Histogram }

func newMetrics(registry prometheus.Registerer) metrics {
	auto := promauto.With(registry)
	return metrics{
		onSketches: auto.NewHistogram(prometheus.HistogramOpts{Name: "jianguo_index_judged_proposals",
			Help: "Exemplars an article was compared with on sketches.", Buckets: []float64{0, 1, 2, 4, 8, 16, 32, 64,
				128}}),
		onTexts: auto.NewHistogram(prometheus.HistogramOpts{Name: "jianguo_index_judged_texts",
			Help: "Exemplars an article was compared with on texts.", Buckets: []float64{0, 1, 2, 4, 8, 16}}),
		tokens: auto.NewHistogram(prometheus.HistogramOpts{Name: "jianguo_index_judged_tokens",
			Help: "Tokens of these texts, of both sides.", Buckets: prometheus.ExponentialBuckets(1<<9, 4, 5)}),
	}
}
