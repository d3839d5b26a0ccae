//go:build linux && amd64

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
)

// requestTime is how long a client waits for an answer.
const requestTime = 10 * time.Second

func sleep(ctx context.Context, milliseconds int) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
	}
}

// work starts the clients of a round.
func (c *chaos) work(ctx context.Context, clients *sync.WaitGroup) {
	client := &http.Client{Transport: &http.Transport{DialContext: c.dial, MaxIdleConnsPerHost: 8}}
	clients.Go(func() {
		var over sync.WaitGroup
		for range 2 {
			over.Go(func() { c.write(ctx, c.overHTTP(client), client) })
			over.Go(func() {
				c.show(ctx, func(ctx context.Context, what string, body []byte) error { return c.askHTTP(ctx, client, what, body) })
			})
		}
		over.Go(func() { c.read(ctx, client) })
		over.Wait()
		client.CloseIdleConnections()
	})
	onBus := func(work func(ctx context.Context, conn *nats.Conn)) {
		clients.Go(func() { c.connected(ctx, work) })
	}
	onBus(func(ctx context.Context, conn *nats.Conn) {
		if js, err := jetstream.New(conn); err == nil {
			c.write(ctx, overBus{js}, nil)
		}
	})
	for range 2 {
		onBus(func(ctx context.Context, conn *nats.Conn) {
			c.show(ctx, func(ctx context.Context, what string, body []byte) error { return askBus(ctx, conn, what, body) })
		})
	}
	onBus(c.watch)
}

// connected runs a client with a connection to the bus, again and again until the context
// ends: an attempt to connect may fail.
func (c *chaos) connected(ctx context.Context, client func(context.Context, *nats.Conn)) {
	url := c.address.NATS
	for ; ctx.Err() == nil; sleep(ctx, 10) {
		conn, err := bus.Connect(url, nats.SetCustomDialer(dialer{c}), nats.ReconnectWait(20*time.Millisecond),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // errors are part of the test
		if err != nil {
			continue
		}
		client(ctx, conn)
		conn.Close()
	}
}

// read asks for items, so that the service reads its files.
func (c *chaos) read(ctx context.Context, client *http.Client) {
	for ; ctx.Err() == nil; sleep(ctx, max(5, c.pace/2)) {
		c.mu.Lock()
		id := "none"
		if len(c.articles) > 0 {
			id = c.articles[rand.IntN(len(c.articles))].id
		}
		c.mu.Unlock()
		_, _ = c.call(ctx, client, http.MethodGet, "/items/"+id, nil, http.StatusOK)
	}
}

// dialer connects clients of the bus.
type dialer struct{ c *chaos }

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.c.dial(context.Background(), network, address)
}

func (c *chaos) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	b := &breaking{Conn: conn, c: c}
	b.remaining.Store(rand.Int64N(30_000))
	return b, nil
}

// breaking is a connection that breaks in the middle of what is sent or received, as long
// as clients are cut off.
type breaking struct {
	net.Conn
	c         *chaos
	remaining atomic.Int64
}

var errCut = errors.New("the client was cut off")

func (b *breaking) Write(p []byte) (int, error) {
	if !b.c.cutOff.Load() {
		return b.Conn.Write(p)
	}
	if room := b.remaining.Add(-int64(len(p))); room < 0 {
		n, _ := b.Conn.Write(p[:max(0, int64(len(p))+room)])
		b.c.injected()
		_ = b.Conn.Close()
		return n, errCut
	}
	return b.Conn.Write(p)
}

func (b *breaking) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if b.c.cutOff.Load() && err == nil && b.remaining.Add(-int64(n)) < 0 {
		b.c.injected()
		_ = b.Conn.Close()
		return 0, errCut
	}
	return n, err
}
