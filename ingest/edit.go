package ingest

import (
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

// Edit has what people decided applied in the order of ITEMS; see index.Index.Edit.
// When ctx ends after the bus has stored it, the error wraps ErrPending.
func (s *Service) Edit(ctx context.Context, e index.Edit) (*index.Decision, error) {
	payload, err := json.Marshal(e)
	if err == nil && !s.cfg.Conn.IsConnected() { // the client would send it after it was answered as failed
		err = nats.ErrDisconnected
	}
	if err != nil {
		return nil, fmt.Errorf("ingest: edit: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, editWait)
	defer cancel()
	id, done := rand.Text(), make(chan editResult, 1)
	s.edits.Store(id, done)
	defer s.edits.Delete(id)
	message := &nats.Msg{Subject: bus.SubjectEdit, Data: payload, Header: nats.Header{headerEdit: {id}}}
	if _, err := s.js.PublishMsg(ctx, message); err != nil {
		return nil, fmt.Errorf("ingest: edit: %w", err)
	}
	select {
	case r := <-done:
		return r.decision, r.refused
	case <-ctx.Done():
		return nil, fmt.Errorf("ingest: edit: %w: %w", ErrPending, context.Cause(ctx))
	}
}
