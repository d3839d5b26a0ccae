package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"jianguo/sketch"
)

// Judging is the dear part of applying an article, and most of it does not
// depend on what comes just before: the search changes little from one batch to
// the next, and how two texts compare does not change at all. So the workers
// judge beforehand, beside the writer (Preview). When the article's turn comes,
// its search is brought up to date from the journal (renew), what the proposals
// stand for is asked again, and only those are compared that are new. The
// verdict is the one that judging in turn would give, by construction:
//
//   - a renewed search finds what one made now would find, or is made again;
//   - a remembered opinion is of the same pair, and opinions are pure;
//   - all else (exact copies, targets, windows) is looked up in turn.

// preview is what was found out about an article before its turn.
type preview struct {
	at uint64 // the journal's next before the search
	*search
	memo memo
}

// opinion is how an article and one exemplar compare.
type opinion struct {
	ordinal    uint32
	s          float32 // the proposal's
	comparison sketch.Comparison
	judgement  sketch.Judgement
	noText     bool // the exemplar's text was not kept
}

// unrelated reports whether the sketches tell that the two have nothing to do
// with each other.
func (o *opinion) unrelated(p *Policy) bool {
	return p.Unrelated(o.comparison.Resemblance, max(o.comparison.ContainedA, o.comparison.ContainedB))
}

// memo remembers opinions of one article. The zero value and nil are empty.
type memo struct {
	sketches, texts []*opinion
	strangers       []uint32 // by their outlines; sorted
	// unseen lets exemplars pass whose rows cannot be read yet: of a batch that
	// is being committed.
	unseen bool
}

func recalled(opinions []*opinion, p *proposal) *opinion {
	for _, o := range opinions {
		if o.ordinal == p.ordinal && o.s == p.s {
			return o
		}
	}
	return nil
}

// errUnseen says that an exemplar cannot be read yet.
var errUnseen = errors.New("not committed yet")

func (m *memo) get(ctx context.Context, x *Index, r rows, ordinal uint32, text bool) (*relative, error) {
	rel, err := x.relatives.get(ctx, r, ordinal, text)
	if m.unseen && errors.Is(err, sql.ErrNoRows) {
		return nil, errUnseen
	}
	return rel, err
}

// onSketch compares an article with a proposal by their sketches.
func (x *Index) onSketch(ctx context.Context, r rows, a *Article, p *proposal, m *memo) (*opinion, error) {
	if o := recalled(m.sketches, p); o != nil {
		return o, nil
	}
	rel, err := m.get(ctx, x, r, p.ordinal, false)
	if err != nil {
		return nil, err
	}
	o := &opinion{ordinal: p.ordinal, s: p.s, comparison: sketch.Compare(&a.Sketch, &rel.sketch)}
	o.judgement = sketch.Judge(o.comparison, p.s, x.policy.Thresholds)
	m.sketches = append(m.sketches, o)
	return o, nil
}

// onText compares an article with a proposal by their texts; nil where one of
// them was not kept.
func (x *Index) onText(ctx context.Context, r rows, a *Article, p *proposal, m *memo, q *query) (*opinion, error) {
	if !x.readable(a) {
		return nil, nil
	}
	o := recalled(m.texts, p)
	if o == nil {
		rel, err := m.get(ctx, x, r, p.ordinal, true)
		if err != nil {
			return nil, err
		}
		o = &opinion{ordinal: p.ordinal, s: p.s, noText: !rel.kept}
		if rel.kept {
			o.comparison, o.judgement = q.of(a).Judge(rel.text, p.s, x.policy.Thresholds)
		}
		m.texts = append(m.texts, o)
	}
	if o.noText {
		return nil, nil
	}
	return o, nil
}

// readable reports whether an article's text can be compared with others.
func (x *Index) readable(a *Article) bool {
	return x.relatives.normal != nil && (a.Text.Body != "" || a.Text.Title != "")
}

// query is an article's text, prepared when it is first compared.
type query struct {
	sketch.Query
	ready bool
}

func (q *query) of(a *Article) sketch.Query {
	if !q.ready {
		q.Query, q.ready = sketch.NewQuery(a.Text), true
	}
	return q.Query
}

func (q *query) close() {
	if q.ready {
		q.Close()
	}
}

// recall is what an article is to be judged against, and what is known of it
// already. Writer only, unless v is nil.
func (x *Index) recall(a *Article, v *preview) ([]proposal, *memo) {
	if v == nil {
		return x.propose(a), new(memo)
	}
	if !x.journal.knows(v.at) {
		// After a batch that failed an ordinal may stand for another text.
		x.metrics.searches.WithLabelValues("again").Inc()
		return x.propose(a), new(memo)
	}
	if !x.renew(a, v.search, v.at) {
		x.metrics.searches.WithLabelValues("again").Inc()
		return x.propose(a), &v.memo
	}
	x.metrics.searches.WithLabelValues("before").Inc()
	return x.proposals(a, v.search), &v.memo
}

// Preview does beforehand what judging an article that arrived at a time will
// need: it changes no verdict, and may run beside the writer and itself. The
// article must then be handed to Add as it is, and to no other Index.
func (x *Index) Preview(ctx context.Context, a *Article, at time.Time) error {
	a.Preview = nil
	if a.Blank || x.policy.Rules == RulesHamming {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return wrapPreview(a, err)
	}
	// A context that can end costs a goroutine a query to watch for that, and a
	// few rows are read sooner than anyone could be told.
	ctx = context.WithoutCancel(ctx)
	r := x.beside
	v := &preview{at: x.journal.next.Load(), memo: memo{unseen: true}}
	_, exact, err := x.judgeExact(ctx, r, a, seconds(at), nil)
	if exact || err != nil && !errors.Is(err, sql.ErrNoRows) {
		return wrapPreview(a, err) // an exact copy needs no search
	}
	v.search = x.search(a)
	_, err = x.judgeAll(ctx, r, a, x.proposals(a, v.search), seconds(at), nil, &v.memo)
	v.memo.unseen = false
	if err != nil {
		return wrapPreview(a, err)
	}
	a.Preview = v
	return nil
}

func wrapPreview(a *Article, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("index: preview of %q: %w", a.ID, err)
}
