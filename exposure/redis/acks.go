package redis

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/exposure/eventlog"
)

// appliedSubject is where owners say that they are further; a partition follows. Whoever says so, only Redis is
// believed.
const appliedSubject = "histories.applied."

// Acks tells requests of this service what owners on any service have applied.
type Acks struct {
	conn    *nats.Conn
	redis   *Conn
	refusal func(why string) error // the error of what an owner has written
	subs    []*nats.Subscription   // one for each partition
	parts   [Partitions]ackPart
}

type ackPart struct {
	eventlog.Applied
	mu  sync.Mutex
	log string // mu; whose sequences count
}

// Listen begins to hear what owners say.
func Listen(conn *nats.Conn, redis *Conn, refusal func(why string) error) (*Acks, error) {
	a := &Acks{conn: conn, redis: redis, refusal: refusal}
	for p := range a.parts {
		sub, err := conn.Subscribe(appliedSubject+strconv.Itoa(p), func(m *nats.Msg) {
			if pending, _, _ := m.Sub.Pending(); pending <= 1 { // this one is the last
				_ = a.look(context.Background(), p) // requests that wait look for themselves
			}
		})
		if err != nil {
			return nil, fmt.Errorf("exposure: subscribe to owners: %w", err)
		}
		a.subs = append(a.subs, sub)
	}
	return a, nil
}

// Close stops listening.
func (a *Acks) Close() {
	for _, sub := range a.subs {
		_ = sub.Unsubscribe()
	}
}

// Tell has all services look how far a partition is.
func (a *Acks) Tell(p int) error { return a.conn.Publish(appliedSubject+strconv.Itoa(p), nil) }

// look asks Redis how far a partition is.
func (a *Acks) look(ctx context.Context, p int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	at, err := a.redis.Progress(ctx, p)
	if err != nil {
		return err
	}
	q := &a.parts[p]
	q.mu.Lock()
	defer q.mu.Unlock()
	if at.Log != q.log {
		q.log = at.Log
		q.Reset(0) // the stream was created again: its sequences count from one
	}
	refused := map[uint64]error{}
	for seq, why := range at.Refused {
		if seq > q.Seq() {
			refused[seq] = a.refusal(why)
		}
	}
	q.Advance(at.Applied, refused)
	return nil
}

// Wait waits until an entry is in Redis, or returns why it was refused, or that Redis does not answer. Now and then it
// asks: what an owner says may get lost.
func (a *Acks) Wait(ctx context.Context, p int, seq uint64) error {
	return a.parts[p].Applied.Wait(ctx, seq, func() error { return a.look(ctx, p) })
}
