package ingest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
)

// Edits go the way of items, so that every service on a bus applies them at the same place.

// headerEdit names an edit to the process that waits for it.
const headerEdit = "Jianguo-Edit"

// editWait is how long an edit may wait for what is in front of it.
const editWait = 10 * time.Second

// editResult is what became of an edit.
type editResult struct {
	decision *index.Decision
	refused  error
}

// Decide has a decision applied in the order of ITEMS; see index.Index.Decide. When its time ends after the bus has
// stored it, the error wraps ErrPending.
func (s *Service) Decide(ctx context.Context, req index.DecisionRequest) (*index.Decision, error) {
	req.At = cmp.Or(req.At, time.Now())
	return s.edit(ctx, &index.Edit{Decision: &req})
}

// Confirm is Decide for a review.
func (s *Service) Confirm(ctx context.Context, r index.Review) error {
	r.At = cmp.Or(r.At, time.Now())
	_, err := s.edit(ctx, &index.Edit{Review: &r})
	return err
}

// SetSourcePolicy is Decide for the policy of a source.
func (s *Service) SetSourcePolicy(ctx context.Context, p index.SourcePolicy) error {
	p.At = cmp.Or(p.At, time.Now())
	_, err := s.edit(ctx, &index.Edit{Source: &p})
	return err
}

// DecideBoilerplate is Decide for a passage of a source.
func (s *Service) DecideBoilerplate(ctx context.Context, source string, p index.Passage) error {
	p.At = cmp.Or(p.At, new(time.Now()))
	_, err := s.edit(ctx, &index.Edit{Passage: &index.SourcePassage{Source: source, Passage: p}})
	return err
}

func (s *Service) edit(ctx context.Context, e *index.Edit) (*index.Decision, error) {
	payload, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("ingest: edit: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, editWait)
	defer cancel()
	id, done := rand.Text(), make(chan editResult, 1)
	s.edits.Store(id, done)
	defer s.edits.Delete(id)
	if _, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: bus.SubjectEdit, Data: payload, Header: nats.Header{headerEdit: {id}}}); err != nil {
		return nil, fmt.Errorf("ingest: edit: %w", err)
	}
	select {
	case r := <-done:
		return r.decision, r.refused
	case <-ctx.Done():
		return nil, fmt.Errorf("ingest: edit: %w: %w", ErrPending, context.Cause(ctx))
	}
}
