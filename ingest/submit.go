package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
)

// Outcome is the reply to a publisher that set bus.HeaderReply.
type Outcome struct {
	Seq     uint64       `json:"seq"`
	Changed bool         `json:"changed"`         // false: nothing new; Event is the stored verdict
	Event   *index.Event `json:"event,omitempty"` // nil where Error is set
	Error   string       `json:"error,omitempty"` // why it is a dead letter
	Field   string       `json:"field,omitempty"`
}

// ErrPending says that the bus has stored an item, but that its outcome did not
// come in time.
var ErrPending = errors.New("the item is stored, its verdict did not come in time")

// Submit publishes a payload on subject (bus.SubjectPublish or bus.SubjectWithdraw) and
// waits for its outcome. When ctx ends after the bus has stored the message, the
// error wraps ErrPending; after other errors it may be stored or not.
func Submit(ctx context.Context, js jetstream.JetStream, subject string, payload []byte) (*Outcome, error) {
	conn := js.Conn()
	inbox := conn.NewRespInbox()
	sub, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("ingest: submit: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	msg := nats.NewMsg(subject)
	msg.Header.Set(bus.HeaderReply, inbox)
	msg.Data = payload
	if _, err := js.PublishMsg(ctx, msg); err != nil {
		return nil, fmt.Errorf("ingest: submit: %w", err)
	}
	reply, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w: %w", ErrPending, err)
	}
	var o Outcome
	if err := json.Unmarshal(reply.Data, &o); err != nil {
		return nil, fmt.Errorf("ingest: outcome: %w", err)
	}
	return &o, nil
}
