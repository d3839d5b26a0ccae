package redis

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/exposure/eventlog"
	"jianguo/internal/wrap"
)

// appliedSubject is where owners say that they are further; a partition follows. Whoever says so, only Redis is
// believed.
const appliedSubject = "histories.applied."

// Acks tells requests of this service what owners on any service have applied.
type Acks struct {
	conn    *nats.Conn
	redis   *Conn
	refusal func(why string) error // the error of what an owner has written
	sub     *nats.Subscription
	stop    context.CancelFunc
	done    sync.WaitGroup
	parts   [Partitions]ackPart
}

type ackPart struct {
	eventlog.Applied
	told chan struct{} // holds one: Redis is to be asked
	mu   sync.Mutex
	log  string // mu; whose sequences count
}

// Listen begins to hear what owners say.
func Listen(conn *nats.Conn, redis *Conn, refusal func(why string) error) (*Acks, error) {
	a := &Acks{conn: conn, redis: redis, refusal: refusal}
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	for p := range a.parts {
		a.parts[p].told = make(chan struct{}, 1)
		a.done.Go(func() { a.follow(ctx, p) })
	}
	var err error
	a.sub, err = conn.Subscribe(appliedSubject+"*", a.hear)
	return a, wrap.Err(err, "exposure: subscribe to owners")
}

// Close stops listening.
func (a *Acks) Close() {
	_ = a.sub.Unsubscribe()
	a.stop()
	a.done.Wait()
}

// Tell has all services look how far a partition is.
func (a *Acks) Tell(p int) error { return a.conn.Publish(appliedSubject+strconv.Itoa(p), nil) }

func (a *Acks) hear(m *nats.Msg) {
	if p, err := strconv.Atoi(strings.TrimPrefix(m.Subject, appliedSubject)); err == nil && p >= 0 && p < Partitions {
		select {
		case a.parts[p].told <- struct{}{}:
		default:
		}
	}
}

func (a *Acks) follow(ctx context.Context, p int) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.parts[p].told:
			_ = a.look(ctx, p) // requests that wait look for themselves
		}
	}
}

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
