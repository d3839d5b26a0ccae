package ingest

import (
	"context"
	"encoding/json"
	"fmt"

	"jianguo/bus"
	"jianguo/index"
)

// Outcome is what a publisher that set bus.HeaderReply gets.
type Outcome struct {
	Seq     uint64       `json:"seq"`
	Changed bool         `json:"changed"`         // false: nothing new; Event is the stored verdict
	Event   *index.Event `json:"event,omitempty"` // nil where Error is set
	Error   string       `json:"error,omitempty"` // why it is a dead letter
	Field   string       `json:"field,omitempty"`
}

// Submit publishes a payload on subject (bus.SubjectPublish or bus.SubjectWithdraw) and
// waits for its outcome. When ctx ends after the bus has stored the message, the
// error wraps bus.ErrPending.
func Submit(ctx context.Context, p *bus.Publisher, subject string, payload []byte) (*Outcome, error) {
	reply, err := p.Request(ctx, subject, payload)
	if err != nil {
		return nil, fmt.Errorf("ingest: submit: %w", err)
	}
	var o Outcome
	if err := json.Unmarshal(reply, &o); err != nil {
		return nil, fmt.Errorf("ingest: outcome: %w", err)
	}
	return &o, nil
}
