package bus

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
)

// Publisher puts messages on ITEMS for many callers at once: what comes while
// messages are being stored goes on together afterwards, and as one atomic
// batch where there are enough of them. The bus syncs once a batch, and a sync
// is what publishing costs. Messages are stored in the order they were handed
// in. It may be used in any process that has the bus.
type Publisher struct {
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

// NewPublisher returns a Publisher on a connection.
func NewPublisher(conn *nats.Conn) (*Publisher, error) {
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(4*batchMessages))
	if err != nil {
		return nil, fmt.Errorf("bus: publisher: %w", err)
	}
	return &Publisher{conn: conn, js: js}, nil
}

// ErrPending says that the bus has an item for good, but that its outcome did
// not come while somebody waited for it.
var ErrPending = errors.New("the item is stored, its verdict did not come in time")

// Request publishes a payload on subject and waits for its outcome, which it returns as
// the service wrote it. When ctx ends after the bus has stored the message, the error
// wraps ErrPending.
func (p *Publisher) Request(ctx context.Context, subject string, payload []byte) (outcome []byte, err error) {
	inbox := p.conn.NewRespInbox()
	sub, err := p.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	msg := nats.NewMsg(subject)
	msg.Header.Set(HeaderReply, inbox)
	msg.Data = payload
	if err := p.Publish(ctx, msg); err != nil {
		return nil, err
	}
	reply, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPending, err)
	}
	return reply.Data, nil
}

// Publish returns once the bus has stored a message. After another error than
// one of the bus it may still be stored.
func (p *Publisher) Publish(ctx context.Context, msg *nats.Msg) error {
	select {
	case err := <-p.PublishAsync(msg):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// PublishAsync hands a message in and returns where its one answer comes: nil
// once the bus has stored it.
func (p *Publisher) PublishAsync(msg *nats.Msg) <-chan error {
	s := &submission{msg: msg, stored: make(chan error, 1)}
	p.mu.Lock()
	p.pending = append(p.pending, s)
	if !p.flushing {
		p.flushing = true
		go p.flush()
	}
	p.mu.Unlock()
	return s.stored
}

// flush publishes until nothing is pending.
func (p *Publisher) flush() {
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
func (p *Publisher) take() []*submission {
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
func (p *Publisher) store(batch []*submission) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeWait)
	defer cancel()
	id := nuid.Next()
	for i, s := range batch {
		m := &nats.Msg{Subject: s.msg.Subject, Data: s.msg.Data, Header: nats.Header{
			HeaderReply: s.msg.Header[HeaderReply], headerBatchID: {id}, headerBatchSequence: {strconv.Itoa(i + 1)}}}
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
func (p *Publisher) storeEach(batch []*submission) {
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
