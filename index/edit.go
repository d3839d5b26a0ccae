package index

import (
	"cmp"
	"context"
	"errors"
	"time"

	"jianguo/index/sources"
	"jianguo/index/verdict"
	"jianguo/internal/must"
	"jianguo/internal/wrap"
)

// Edit is what people change, in the order of the messages of ITEMS: one of its fields, or a decision with the review
// that led to it. What has no time is of the time of its message.
type Edit struct {
	Decision *DecisionRequest `json:"decision,omitempty"`
	Review   *Review          `json:"review,omitempty"`
	Source   *SourcePolicy    `json:"source,omitempty"`
	Passage  *SourcePassage   `json:"passage,omitempty"`
}

// Passage is what recurs in texts of a source.
type Passage = sources.Passage

// SourcePassage is a passage of a source that an editor puts in or takes out.
type SourcePassage struct {
	Source string `json:"source"`
	Passage
}

// Edit applies what a message holds, once however often it is delivered. refused says why it changed nothing; the
// decision is nil but for a DecisionRequest. After an err nothing was applied, and the caller may repeat the call.
func (x *Index) Edit(ctx context.Context, seq uint64, at time.Time, e *Edit) (d *Decision, refused, err error) {
	x.writeMu.Lock()
	defer x.writeMu.Unlock()
	if seq <= x.applied {
		return nil, nil, nil
	}
	last := message{seq, uint64(at.UnixNano())}
	d, refused = x.edit(ctx, last, at, e)
	conflict := new(ConflictError)
	if refused != nil && !errors.Is(refused, ErrQuery) && !errors.Is(refused, ErrNotFound) &&
		!errors.As(refused, &conflict) {
		return nil, nil, refused
	}
	if x.applied < seq {
		err = x.apply(ctx, last, func(*batch) {})
	}
	return d, refused, err
}

// EditNow applies an edit that is none of ITEMS, as one durable transaction. The errors of a decision wrap ErrQuery (a
// field is wrong), ErrNotFound, or are a *ConflictError.
func (x *Index) EditNow(ctx context.Context, e *Edit) (*Decision, error) {
	x.writeMu.Lock()
	defer x.writeMu.Unlock()
	return x.edit(ctx, message{x.applied, x.logged}, time.Now(), e)
}

// edit applies an edit. Guarded by writeMu.
func (x *catalogue) edit(ctx context.Context, last message, at time.Time, e *Edit) (d *Decision, err error) {
	review := func(b *batch) {
		if e.Review != nil {
			b.confirm(e.Review, cmp.Or(e.Review.At, at))
		}
	}
	switch {
	case e.Decision != nil:
		req := *e.Decision
		req.At = cmp.Or(req.At, at)
		d, err = x.decide(ctx, last, req, review)
		return d, wrap.Err(err, "index: %s", req.Kind)
	case e.Review != nil:
		return nil, wrap.Err(x.apply(ctx, last, review), "index: review of %q", e.Review.Item)
	case e.Source != nil:
		p := *e.Source
		p.At = cmp.Or(p.At, at)
		return nil, wrap.Err(x.setSourcePolicy(ctx, last, p), "index: policy of source %q", p.Source)
	case e.Passage != nil:
		p := *e.Passage
		p.At = cmp.Or(p.At, &at)
		return nil, wrap.Err(x.decideBoilerplate(ctx, last, p), "index: boilerplate of source %q", p.Source)
	}
	return nil, nil
}

func (b *batch) confirm(r *Review, at time.Time) {
	switch {
	case r.Finding != FoundRight && r.Finding != FoundWrong && r.Finding != FoundUnsure && r.Finding != FoundUndone:
		must.Do(verdict.Wrong(ErrQuery, "finding", "is %q, want right, wrong, unsure or undone", r.Finding))
	case r.Drawn != DrawnRandom && r.Drawn != DrawnDoubt:
		must.Do(verdict.Wrong(ErrQuery, "drawn", "is %q, want random or doubt", r.Drawn))
	case r.By == "":
		must.Do(verdict.Wrong(ErrQuery, "by", "is missing"))
	}
	v := b.latest(r.Item)
	if v == nil {
		must.Do(ErrNotFound)
		return // not reached: Do panics
	}
	b.exec(`INSERT INTO reviews (at, by, ordinal, drawn, finding, reason) VALUES (?,?,?,?,?,?)`,
		[]any{millis(at), r.By, v.ordinal, r.Drawn, r.Finding, r.Reason}, "review")
}

func (x *catalogue) setSourcePolicy(ctx context.Context, last message, p SourcePolicy) error {
	now := x.policyOf(p.Source)
	now.Policy = cmp.Or(now.Policy, SourceNormal)
	if p.Strictness == "" {
		p.Strictness = now.Strictness
	} else if p.Strictness == StrictnessOfService {
		p.Strictness = ""
	}
	if err := p.Validate(); err != nil || p.Stored() == now.Stored() {
		return err
	}
	var force map[string]SourcePolicy
	err := x.apply(ctx, last, func(b *batch) {
		must.Do(sources.Insert(b.ctx, x.conn, p, x.applied))
		force = must.Get(sources.InForce(b.ctx, x.conn))
	})
	if err == nil {
		x.policies.Store(&force)
	}
	return err
}

func (x *catalogue) decideBoilerplate(ctx context.Context, last message, p SourcePassage) error {
	s, err := x.boilerplate.Of(ctx, p.Source)
	if err == nil {
		s, err = s.Decide(p.Source, p.Passage, x.cfg.Normal)
	}
	if err == nil {
		err = x.apply(ctx, last, func(*batch) { x.boilerplate.Set(p.Source, s) })
	}
	return err
}
