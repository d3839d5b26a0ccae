package index

import (
	"context"
	"errors"

	"jianguo/index/boilerplate"
)

// Edit is what people change, in the order of the messages of ITEMS: one of its fields.
type Edit struct {
	Decision *DecisionRequest `json:"decision,omitempty"`
	Review   *Review          `json:"review,omitempty"`
	Source   *SourcePolicy    `json:"source,omitempty"`
	Passage  *SourcePassage   `json:"passage,omitempty"`
}

// Passage is what recurs in texts of a source.
type Passage = boilerplate.Passage

// SourcePassage is a passage of a source that an editor puts in or takes out.
type SourcePassage struct {
	Source string `json:"source"`
	Passage
}

// Edit applies what a message holds, once however often it is delivered. refused says why it changed nothing, as Decide,
// Confirm, SetSourcePolicy and DecideBoilerplate would; the decision is nil but for a DecisionRequest. After
// an err nothing was applied, and the caller may repeat the call.
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
		err = x.SetSourcePolicy(ctx, *e.Source)
	}
	conflict := new(ConflictError)
	if refused = err; err != nil && !errors.Is(err, ErrQuery) && !errors.Is(err, ErrNotFound) && !errors.As(err, &conflict) {
		return nil, nil, err
	}
	if applied, _ := x.Applied(); applied >= seq {
		return d, refused, nil
	}
	x.write.Lock()
	defer x.write.Unlock()
	return d, refused, x.apply(ctx, seq, func(*batch) {})
}

// orApplied returns an applied sequence, or for 0 the last one: then the change is not one of ITEMS.
func (x *Index) orApplied(seq uint64) uint64 {
	applied, _ := x.Applied()
	return max(seq, applied)
}
