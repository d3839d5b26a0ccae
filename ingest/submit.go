package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/internal/wrap"
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

// Publisher publishes items and withdrawals, and receives their outcomes, for as long as
// its connection is open.
type Publisher struct {
	js      jetstream.JetStream
	inbox   string
	waiting sync.Map // chan *nats.Msg by subject in the inbox
	next    atomic.Uint64
}

// NewPublisher returns a Publisher. js should have a timeout of asynchronous publishing.
func NewPublisher(js jetstream.JetStream) (*Publisher, error) {
	p := &Publisher{js: js, inbox: js.Conn().NewInbox() + "."}
	sub, err := js.Conn().Subscribe(p.inbox+"*", func(m *nats.Msg) {
		if c, ok := p.waiting.LoadAndDelete(m.Subject); ok {
			c.(chan *nats.Msg) <- m
		}
	})
	if err != nil {
		return nil, fmt.Errorf("ingest: publisher: %w", err)
	}
	return p, sub.SetPendingLimits(-1, -1) // bounded by what waits
}

// Submit publishes a payload on subject (bus.SubjectPublish or bus.SubjectWithdraw) and
// waits for its outcome. When ctx ends after the bus has stored the message, the
// error wraps ErrPending; after other errors it may be stored or not.
func (p *Publisher) Submit(ctx context.Context, subject string, payload []byte) (*Outcome, error) {
	outcome, err := p.Publish(subject, payload)
	if err != nil {
		return nil, err
	}
	return outcome(ctx)
}

// Publish is Submit in two parts: the bus receives messages in the order of the calls. The
// function that it returns waits for the outcome. It must be called, once.
func (p *Publisher) Publish(subject string, payload []byte) (
	outcome func(context.Context) (*Outcome, error), err error) {
	replies, inbox := make(chan *nats.Msg, 1), fmt.Sprint(p.inbox, p.next.Add(1))
	p.waiting.Store(inbox, replies)
	msg := &nats.Msg{Subject: subject, Data: payload, Header: nats.Header{bus.HeaderReply: {inbox}}}
	stored, err := p.js.PublishMsgAsync(msg)
	if err != nil {
		p.waiting.Delete(inbox)
		return nil, fmt.Errorf("ingest: submit: %w", err)
	}
	return func(ctx context.Context) (*Outcome, error) {
		defer p.waiting.Delete(inbox)
		select {
		case <-stored.Ok():
		case err := <-stored.Err():
			if errors.Is(err, jetstream.ErrNoStreamResponse) {
				err = fmt.Errorf("the bus has no stream of items, which a service makes: %w", err)
			}
			return nil, fmt.Errorf("ingest: submit: %w", err)
		case <-ctx.Done():
			return nil, fmt.Errorf("ingest: submit: %w", context.Cause(ctx))
		}
		select {
		case reply := <-replies:
			o := new(Outcome)
			return o, wrap.Err(json.Unmarshal(reply.Data, o), "ingest: outcome")
		case <-ctx.Done():
			return nil, fmt.Errorf("ingest: %w: %w", ErrPending, context.Cause(ctx))
		}
	}, nil
}
