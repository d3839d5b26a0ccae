package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"jianguo/index/match"
	"jianguo/index/stories"
	"jianguo/internal/must"
	"jianguo/internal/wrap"
)

// ErrRecipe says that an article has to be prepared again, because of a reindex.
var ErrRecipe = errors.New("the article was prepared by another recipe")

// Add applies mutations in order, as one durable transaction, and returns the
// outcome of each. A mutation that was applied before changes nothing. On an error
// nothing was applied, in the files or in memory, and the caller may repeat the
// call. The error is ErrRecipe if an article was prepared by another recipe than Recipe's.
func (x *Index) Add(ctx context.Context, mutations []Mutation) ([]Outcome, error) {
	x.writeMu.Lock()
	defer x.writeMu.Unlock()
	if recipe := x.Recipe(); recipe != "" && slices.ContainsFunc(mutations, func(m Mutation) bool {
		return m.Article != nil && m.Article.Recipe != "" && m.Article.Recipe != recipe
	}) {
		return nil, ErrRecipe
	}
	outcomes := make([]Outcome, len(mutations))
	applied := x.applied
	last := message{applied, x.logged}
	for i := range mutations {
		if m := &mutations[i]; m.Seq > last.seq {
			last = message{m.Seq, uint64(m.At.UnixNano())}
		}
	}
	err := x.apply(ctx, last, func(b *batch) {
		for i := range mutations {
			m := &mutations[i]
			err := must.Catch(func() {
				switch {
				case m.Article != nil && m.Seq > applied:
					outcomes[i] = b.publish(m)
				case m.Withdraw != nil && m.Seq > applied:
					outcomes[i] = b.withdraw(m)
				default: // applied before, or a dead letter
					if v := b.latest(m.ID()); v != nil {
						outcomes[i] = b.unchanged(v)
					}
				}
			})
			must.Dof(err, "index: item %q (sequence %d)", m.ID(), m.Seq)
		}
		must.Do(x.cfg.Fail("batch"))
	})
	if err != nil {
		return nil, err
	}
	x.metrics.observe(outcomes)
	x.arrived(len(mutations))
	return outcomes, nil
}

// CompareAhead compares an article that arrives at the given time with earlier texts before Add judges it: comparing is
// most of the work. It keeps the comparisons in the article, for Add of the same Index. Pass it on unchanged.
// It changes no verdict, and may run beside the writer and other calls.
func (x *Index) CompareAhead(ctx context.Context, a *Article, at time.Time) error {
	x.arrived(len(a.Text.Body) >> 13)
	var err error
	q := match.Query{Article: a, At: seconds(at)}
	a.Comparisons, err = x.levelOf(a.Source).CompareAhead(ctx, &x.recipe.Load().Reader, q)
	return wrap.Err(err, "index: compare %q ahead", a.ID)
}

// Check returns the event, without its number, that an article would cause if it arrived at the given time, in seconds
// since 1970; the stored one if it would change nothing. It changes nothing, and may run beside the writer.
func (x *Index) Check(ctx context.Context, a *Article, at uint32) (Event, error) {
	check := func() Event {
		r := &x.recipe.Load().Reader
		q, prev := x.query(ctx, r, a, at)
		if prev == nil || !x.nothingNew(ctx, r, prev, a) {
			return x.dryRun(ctx, q, prev)
		}
		stored := x.lastEvent(ctx, x.reader, prev.ordinal, `1`)
		stored.Number = 0
		return stored
	}
	e, err := must.Try(check)
	if errors.Is(err, sql.ErrNoRows) { // it met what the writer has not committed yet
		x.writeMu.Lock()
		defer x.writeMu.Unlock()
		e, err = must.Try(check)
	}
	return e, wrap.Err(err, "index: check")
}

// dryRun is the event that an article would cause, prev being the latest version of its id, or nil. It panics on errors
// (must).
func (x *catalogue) dryRun(ctx context.Context, q match.Query, prev *version) Event {
	a, f := q.Article, x.recipe.Load()
	j := x.judge(ctx, &f.Reader, q)
	e := Event{
		ID: a.ID, Revision: a.Revision, Verdict: j.Verdict, Cause: CauseIngest, Rule: j.Rule, Cluster: j.Cluster,
		Series: j.Series, Facts: j.Facts, Fingerprint: a.Print.Fingerprint.String(), Recipe: f.hash,
		Policy: x.stampHash(x.levelOf(a.Source).stamp),
	}
	if j.Of != 0 {
		e.Of = must.Get(idOf(ctx, f.DB, j.Of))
		e.Measure(j.Distance, j.S, j.Resemblance)
	}
	if prev != nil {
		e.Cause, e.Previous, e.Revision = CauseRevision, prev.current.verdict, cmp.Or(a.Revision, prev.current.revision)
		e.Cluster = x.inheritedCluster(ctx, &f.Reader, prev, a, &j)
	}
	if e.Cluster != 0 {
		e.Story = must.Get(stories.Of(ctx, x.reader, e.Cluster))
	}
	if j.Cluster == 0 {
		e.Story = stories.Predict(ctx, x.reader, e.Story, e.Cluster, j.Tied, x.policy.Tellings)
	}
	e.Why = Why(&e, x.cfg.Language)
	return e
}
