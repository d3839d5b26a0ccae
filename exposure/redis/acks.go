package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/internal/wrap"
)

// appliedSubject is where owners say how far they are; a partition follows.
const appliedSubject = "histories.applied."

// Ack says that all entries of a partition up to a sequence are in Redis.
type Ack struct {
	Log     string            `json:"log"` // identity of the log
	Seq     uint64            `json:"seq"`
	Refused map[uint64]string `json:"refused,omitempty"` // of entries that were not applied: why
}

// Acks tells requests of this service what owners on any service have applied.
type Acks struct {
	conn  *nats.Conn
	redis *Conn
	sub   *nats.Subscription
	parts [Partitions]ackPart
}

type ackPart struct {
	mu      sync.Mutex
	log     string                     // mu; that applied counts in
	applied uint64                     // mu
	refused map[uint64]string          // mu; of recent entries
	waiting map[uint64][]chan struct{} // mu; by sequence
}

// Listen begins to hear what owners say.
func Listen(conn *nats.Conn, redis *Conn) (*Acks, error) {
	a := &Acks{conn: conn, redis: redis}
	for i := range a.parts {
		a.parts[i].refused, a.parts[i].waiting = map[uint64]string{}, map[uint64][]chan struct{}{}
	}
	var err error
	a.sub, err = conn.Subscribe(appliedSubject+"*", a.hear)
	return a, wrap.Err(err, "exposure: subscribe to owners")
}

// Close stops listening.
func (a *Acks) Close() { _ = a.sub.Unsubscribe() }

// Tell says to all services what has been applied.
func (a *Acks) Tell(p int, ack Ack) error {
	b, err := json.Marshal(ack)
	if err != nil {
		return err
	}
	return a.conn.Publish(appliedSubject+strconv.Itoa(p), b)
}

func (a *Acks) hear(m *nats.Msg) {
	p, err := strconv.Atoi(strings.TrimPrefix(m.Subject, appliedSubject))
	var ack Ack
	if err != nil || p < 0 || p >= Partitions || json.Unmarshal(m.Data, &ack) != nil {
		return
	}
	a.parts[p].advance(ack)
}

// maxRefused bounds the outcomes that no request waits for.
const maxRefused = 4096

func (q *ackPart) advance(ack Ack) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.refused) > maxRefused {
		clear(q.refused)
	}
	for seq, why := range ack.Refused {
		q.refused[seq] = why
	}
	if ack.Log != "" && ack.Log != q.log {
		q.log, q.applied = ack.Log, 0 // the stream was created again: its sequences count from one
	}
	if ack.Seq <= q.applied {
		return
	}
	q.applied = ack.Seq
	for seq, waiters := range q.waiting {
		if seq <= ack.Seq {
			for _, ch := range waiters {
				close(ch)
			}
			delete(q.waiting, seq)
		}
	}
}

// pollEvery is how often a request that waits asks Redis: what an owner says may get lost.
const pollEvery = 250 * time.Millisecond

// Wait waits until an entry is in Redis. If it was refused it returns why.
func (a *Acks) Wait(ctx context.Context, p int, seq uint64) (refused string, err error) {
	q := &a.parts[p]
	done := make(chan struct{})
	q.mu.Lock()
	if q.applied >= seq {
		close(done)
	} else {
		q.waiting[seq] = append(q.waiting[seq], done)
	}
	q.mu.Unlock()
	for {
		select {
		case <-done:
			q.mu.Lock()
			refused = q.refused[seq]
			delete(q.refused, seq)
			q.mu.Unlock()
			return refused, nil
		case <-time.After(pollEvery):
			if applied, err := a.redis.Applied(ctx, p); err == nil {
				q.advance(Ack{Seq: applied})
			}
		case <-ctx.Done():
			return "", fmt.Errorf("exposure: event %d is logged but not yet applied: %w", seq, ctx.Err())
		}
	}
}
