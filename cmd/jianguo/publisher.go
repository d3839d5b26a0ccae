package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/ingest"
)

// inFlight limits the items that wait for their outcome.
const inFlight = 2048

// outcomeWait is the time after which an item without outcome is published again.
// Publishing twice is safe: the second delivery changes nothing.
const outcomeWait = 60 * time.Second

// storeWait is how long the bus may take to store an item before it is published again.
const storeWait = 10 * time.Second

const publishTries = 3

// publisher publishes items on a bus and waits for the outcome of each.
type publisher struct {
	conn   *nats.Conn
	js     jetstream.JetStream
	inbox  string
	sub    *nats.Subscription
	done   func(line int, o *ingest.Outcome, err error) // called once for each item, never concurrently
	window chan struct{}
	wg     sync.WaitGroup

	mu      sync.Mutex
	waiting map[string]*submission // by the last token of the reply subject
	next    int
}

type submission struct {
	line     int
	payload  []byte
	tries    int
	deadline time.Time
}

func newPublisher(conn *nats.Conn, done func(line int, o *ingest.Outcome, err error)) (*publisher, error) {
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*inFlight), jetstream.WithPublishAsyncTimeout(storeWait))
	if err != nil {
		return nil, err
	}
	p := &publisher{conn: conn, js: js, inbox: conn.NewInbox() + ".", done: done, window: make(chan struct{}, inFlight), waiting: map[string]*submission{}}
	if p.sub, err = conn.Subscribe(p.inbox+"*", p.outcome); err != nil {
		return nil, err
	}
	return p, p.sub.SetPendingLimits(-1, -1) // bounded by inFlight
}

// publish sends one item; it waits while inFlight items have no outcome yet.
func (p *publisher) publish(ctx context.Context, line int, payload []byte) error {
	select {
	case p.window <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	token := fmt.Sprint(p.next)
	p.next++
	s := &submission{line: line, payload: payload}
	p.waiting[token] = s
	p.mu.Unlock()
	p.wg.Add(1)
	p.send(token, s)
	return nil
}

func (p *publisher) send(token string, s *submission) {
	p.mu.Lock()
	s.tries++
	s.deadline = time.Now().Add(outcomeWait)
	p.mu.Unlock()
	msg := nats.NewMsg(bus.SubjectPublish)
	msg.Header.Set(bus.HeaderReply, p.inbox+token)
	msg.Data = s.payload
	stored, err := p.js.PublishMsgAsync(msg)
	if err != nil {
		p.retry(token, err)
		return
	}
	go func() {
		select {
		case <-stored.Ok():
		case err := <-stored.Err():
			p.retry(token, err)
		}
	}()
}

// retry sends an item again after a failure of the bus, up to publishTries times.
func (p *publisher) retry(token string, err error) {
	p.mu.Lock()
	s, ok := p.waiting[token]
	p.mu.Unlock()
	if !ok {
		return
	}
	if s.tries >= publishTries || errors.Is(err, nats.ErrMaxPayload) {
		p.finish(token, nil, err)
		return
	}
	time.AfterFunc(time.Duration(s.tries)*time.Second, func() { p.send(token, s) })
}

// outcome is called by the connection, never concurrently.
func (p *publisher) outcome(m *nats.Msg) {
	var o ingest.Outcome
	err := json.Unmarshal(m.Data, &o)
	p.finish(m.Subject[len(p.inbox):], &o, err)
}

func (p *publisher) finish(token string, o *ingest.Outcome, err error) {
	p.mu.Lock()
	s, ok := p.waiting[token]
	if ok {
		delete(p.waiting, token)
		p.done(s.line, o, err)
	}
	p.mu.Unlock()
	if ok {
		<-p.window
		p.wg.Done()
	}
}

// wait returns when every item has its outcome, or ctx ends.
func (p *publisher) wait(ctx context.Context) error {
	all := make(chan struct{})
	go func() { p.wg.Wait(); close(all) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			p.overdue()
		}
	}
}

// overdue sends items again whose deadline has passed.
func (p *publisher) overdue() {
	p.mu.Lock()
	var late []string
	for token, s := range p.waiting {
		if time.Now().After(s.deadline) {
			late = append(late, token)
		}
	}
	p.mu.Unlock()
	for _, token := range late {
		p.retry(token, fmt.Errorf("no verdict within %v, after %d tries", outcomeWait, publishTries))
	}
}

func (p *publisher) close() { _ = p.sub.Unsubscribe() }
