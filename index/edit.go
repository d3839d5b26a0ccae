package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"jianguo/index/sources"
	"jianguo/internal/must"
	"jianguo/internal/wrap"
)

// Edit is what people change, in the order of the messages of ITEMS: one of its fields.
type Edit struct {
	Decision *DecisionRequest `json:"decision,omitempty"`
	Review   *Review          `json:"review,omitempty"`
	Source   *SourcePolicy    `json:"source,omitempty"`
	Passage  *SourcePassage   `json:"passage,omitempty"`
}

// Date gives an edit a time, unless it has one.
func (e *Edit) Date(at time.Time) {
	switch {
	case e.Decision != nil:
		e.Decision.At = cmp.Or(e.Decision.At, at)
	case e.Review != nil:
		e.Review.At = cmp.Or(e.Review.At, at)
	case e.Source != nil:
		e.Source.At = cmp.Or(e.Source.At, at)
	case e.Passage != nil:
		e.Passage.At = cmp.Or(e.Passage.At, &at)
	}
}

// Passage is what recurs in texts of a source.
type Passage = sources.Passage

// SourcePassage is a passage of a source that an editor puts in or takes out.
type SourcePassage struct {
	Source string `json:"source"`
	Passage
}

// Edit applies what a message holds, once however often it is delivered. refused says why it changed nothing, as
// Decide, Confirm, SetSourcePolicy and DecideBoilerplate would; the decision is nil but for a DecisionRequest. After an
// err nothing was applied, and the caller may repeat the call.
func (x *Index) Edit(ctx context.Context, seq uint64, e *Edit) (d *Decision, refused, err error) {
	if applied, _ := x.Applied(); seq <= applied {
		return nil, nil, nil
	}
	switch {
	case e.Decision != nil:
		d, err = x.decide(ctx, seq, *e.Decision)
	case e.Review != nil:
		err = x.confirm(ctx, seq, *e.Review)
	case e.Passage != nil:
		err = x.decideBoilerplate(ctx, seq, e.Passage.Source, e.Passage.Passage)
	case e.Source != nil:
		err = x.setSourcePolicy(ctx, seq, *e.Source)
	}
	conflict := new(ConflictError)
	if refused = err; err != nil && !errors.Is(err, ErrQuery) && !errors.Is(err, ErrNotFound) &&
		!errors.As(err, &conflict) {
		return nil, nil, err
	}
	if applied, _ := x.Applied(); applied >= seq {
		return d, refused, nil
	}
	x.write.Lock()
	defer x.write.Unlock()
	return d, refused, x.apply(ctx, seq, func(*batch) {})
}

// Confirm records the review of a rejection. It changes no verdict: a decision
// releases an item that was rejected by mistake.
func (x *Index) Confirm(ctx context.Context, r Review) error { return x.confirm(ctx, 0, r) }

func (x *Index) confirm(ctx context.Context, seq uint64, r Review) error {
	switch {
	case r.Finding != FoundRight && r.Finding != FoundWrong && r.Finding != FoundUnsure && r.Finding != FoundUndone:
		return fmt.Errorf("finding %q: want right, wrong, unsure or undone: %w", r.Finding, ErrQuery)
	case r.Drawn != DrawnRandom && r.Drawn != DrawnDoubt:
		return fmt.Errorf("drawn %q: want random or doubt: %w", r.Drawn, ErrQuery)
	case r.By == "":
		return fmt.Errorf("by: is missing: %w", ErrQuery)
	}
	r.At = cmp.Or(r.At, time.Now())
	x.write.Lock()
	defer x.write.Unlock()
	err := x.apply(ctx, x.orApplied(seq), func(b *batch) {
		v := b.find(r.Item)
		if v == nil {
			must.Do(ErrNotFound)
			return // not reached: Do panics
		}
		b.exec(`INSERT INTO reviews (at, by, ordinal, drawn, finding, reason) VALUES (?,?,?,?,?,?)`,
			[]any{millis(r.At), r.By, v.ordinal, r.Drawn, r.Finding, r.Reason}, "review")
	})
	return wrap.Err(err, "index: review of %q", r.Item)
}
