package redis

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"jianguo/exposure/eventlog"
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
	conn    *nats.Conn
	redis   *Conn
	refusal func(why string) error // the error of what an owner has told
	sub     *nats.Subscription
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
	q := &a.parts[p]
	q.mu.Lock()
	defer q.mu.Unlock()
	if ack.Log != q.log {
		q.log = ack.Log
		q.Reset(0) // the stream was created again: its sequences count from one
	}
	refused := map[uint64]error{}
	for seq, why := range ack.Refused {
		refused[seq] = a.refusal(why)
	}
	q.Advance(ack.Seq, refused)
}

// Wait waits until an entry is in Redis, or returns why it was refused. Now and then it asks Redis: what an owner
// says may get lost.
func (a *Acks) Wait(ctx context.Context, p int, seq uint64) error {
	return a.parts[p].Applied.Wait(ctx, seq, func() error {
		if applied, err := a.redis.Applied(ctx, p); err == nil {
			a.parts[p].Advance(applied, nil)
		}
		return nil
	})
}
