package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"jianguo/ingest"
)

// publisher puts payloads on ITEMS for many requests at once: what comes while
// messages are being stored goes on together afterwards, and as one atomic
// batch where there are enough of them. The bus syncs once a batch, and a sync
// is what publishing costs.
type publisher struct {
	conn *nats.Conn
	js   jetstream.JetStream

	mu       sync.Mutex
	pending  []*submission // in the order of the requests; under mu
	flushing bool          // a flush runs; under mu
	single   bool          // the bus takes no batches; owned by the flush
}

// submission is one message on its way to the stream.
type submission struct {
	msg    *nats.Msg
	stored chan error // gets one value; has room for it
}

// Bounds of a batch. The bus keeps it in memory until it is complete, and
// takes 1,000 messages at most. Beginning and ending one costs as much as some
// ten to thirty single messages.
const (
	minBatch      = 24
	batchMessages = 256
	batchBytes    = 2 << 20
	// storeWait is how long the bus may take for a batch.
	storeWait = 10 * time.Second
)

// submit publishes a payload and waits for its outcome. When ctx ends after the
// bus has taken the message, the error wraps ingest.ErrPending.
func (p *publisher) submit(ctx context.Context, subject string, payload []byte) (*ingest.Outcome, error) {
	inbox := p.conn.NewRespInbox()
	sub, err := p.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("api: submit: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	msg := nats.NewMsg(subject)
	msg.Header.Set(ingest.HeaderReply, inbox)
	msg.Data = payload
	if err := p.publish(ctx, msg); err != nil {
		return nil, fmt.Errorf("api: submit: %w", err)
	}
	reply, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("api: %w: %w", ingest.ErrPending, err)
	}
	var o ingest.Outcome
	if err := json.Unmarshal(reply.Data, &o); err != nil {
		return nil, fmt.Errorf("api: outcome: %w", err)
	}
	return &o, nil
}

// publish returns once the bus has stored a message. After another error than
// one of the bus it may still be stored.
func (p *publisher) publish(ctx context.Context, msg *nats.Msg) error {
	s := &submission{msg: msg, stored: make(chan error, 1)}
	p.mu.Lock()
	p.pending = append(p.pending, s)
	if !p.flushing {
		p.flushing = true
		go p.flush()
	}
	p.mu.Unlock()
	select {
	case err := <-s.stored:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// flush publishes until nothing is pending.
func (p *publisher) flush() {
	for {
		batch := p.take()
		if len(batch) == 0 {
			return
		}
		if len(batch) < minBatch || p.single {
			p.storeEach(batch)
			continue
		}
		if err := p.store(batch); err != nil {
			// One by one each gets its own answer: of a batch that was too much
			// for the stream, some may fit.
			p.single = errors.Is(err, errNoBatches)
			p.storeEach(batch)
			continue
		}
		for _, s := range batch {
			s.stored <- nil
		}
	}
}

// take returns the next batch; with an empty one the flush is over.
func (p *publisher) take() []*submission {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, bytes := 0, 0
	for n < len(p.pending) && n < batchMessages && (n == 0 || bytes+len(p.pending[n].msg.Data) <= batchBytes) {
		bytes += len(p.pending[n].msg.Data)
		n++
	}
	batch := p.pending[:n:n]
	p.pending = p.pending[n:]
	if n == 0 {
		p.pending, p.flushing = nil, false
	}
	return batch
}

// Headers of an atomic batch (NATS ADR-50).
const (
	headerBatchID       = "Nats-Batch-Id"
	headerBatchSequence = "Nats-Batch-Sequence"
	headerBatchCommit   = "Nats-Batch-Commit"
)

var errNoBatches = errors.New("the bus does not know atomic batches")

// store publishes a batch that is stored as a whole or not at all.
func (p *publisher) store(batch []*submission) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeWait)
	defer cancel()
	id := nuid.Next()
	for i, s := range batch {
		m := &nats.Msg{Subject: s.msg.Subject, Data: s.msg.Data, Header: nats.Header{
			ingest.HeaderReply: s.msg.Header[ingest.HeaderReply], headerBatchID: {id}, headerBatchSequence: {strconv.Itoa(i + 1)}}}
		if i < len(batch)-1 {
			if err := p.conn.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		m.Header.Set(headerBatchCommit, "1")
		reply, err := p.conn.RequestMsgWithContext(ctx, m)
		if err != nil {
			return err
		}
		var ack struct {
			Error *jetstream.APIError `json:"error"`
			Count int                 `json:"count"`
		}
		if err := json.Unmarshal(reply.Data, &ack); err != nil {
			return err
		}
		if ack.Error != nil {
			return ack.Error
		}
		if ack.Count != len(batch) {
			return errNoBatches
		}
	}
	return nil
}

// storeEach publishes messages without waiting for one before the next.
func (p *publisher) storeEach(batch []*submission) {
	ctx, cancel := context.WithTimeout(context.Background(), storeWait)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range batch {
		future, err := p.js.PublishMsgAsync(s.msg)
		if err != nil {
			s.stored <- err
			continue
		}
		wg.Go(func() {
			select {
			case <-future.Ok():
				s.stored <- nil
			case err := <-future.Err():
				s.stored <- err
			case <-ctx.Done():
				s.stored <- ctx.Err()
			}
		})
	}
	wg.Wait()
}
