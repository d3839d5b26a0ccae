package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"jianguo/internal/wait"
)

// userName is the user with a number, seven digits for one length of requests.
func userName(i int) string { return fmt.Sprintf("u%07d", i) }

// seenBy is how many ids a user of the mix has seen: of ten users six have seen 50, three 500 and one 20,000. Shares
// are dealt out by a multiplicative hash, so that neighbours in the file differ.
func seenBy(i int) int {
	switch x := float64(uint32(i)*0x9e3779b1) / (1 << 32); {
	case x < 0.6:
		return 50
	case x < 0.9:
		return 500
	}
	return 20000
}

// mix reports what the users of the mix have seen, measures the size of their file, and sends requests for users that
// are not in memory.
func (b *filterBench) mix() error {
	dir, err := os.MkdirTemp(b.Dir, "mix-")
	if err != nil {
		return err
	}
	const policy = "rotate,slots=3,large=10000"
	server, err := b.startServer(dir, "relaxed", policy, 256)
	if err != nil {
		return err
	}
	err = b.reportMix(server)
	if said := server.stop(); err != nil { // and the users are in the file
		return fmt.Errorf("%w: %s", err, said)
	}
	info, err := os.Stat(filepath.Join(dir, "exposure.db"))
	if err != nil {
		return err
	}
	b.r.MixUsers, b.r.FileMix = b.Users, float64(info.Size())/float64(b.Users)
	// A tenth of the users fit into the cache.
	if server, err = b.startServer(dir, "relaxed", policy, max(16, int(info.Size()>>20)/10)); err != nil {
		return err
	}
	defer server.stop()
	// Every user is asked for once, in random order.
	var asked atomic.Int64
	order := rand.New(rand.NewPCG(1, 2)).Perm(b.Users)
	template := mixRequest()
	s, err := steady(b.ctx, server, func(int) []byte {
		user := order[int(asked.Add(1)-1)%b.Users]
		return bytes.ReplaceAll(template, []byte(userName(0)), []byte(userName(user)))
	}, 0.5, b.Each)
	if err != nil {
		return err
	}
	b.r.ColdRate, b.r.ColdP50, b.r.ColdP99 = s.rate.median(), s.p50.median(), s.p99.median()
	b.r.ColdS99 = s.slice99.median()
	return nil
}

// mixRounds is in how many reports or more each user's ids come.
const mixRounds = 4

// reportMix reports that each user has seen the ids "<user>-000000" and on, in rounds over all users.
func (b *filterBench) reportMix(server *process) error {
	for round := range mixRounds {
		g, ctx := errgroup.WithContext(b.ctx)
		g.SetLimit(connections)
		for i := range b.Users {
			n := seenBy(i)
			g.Go(func() error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				from, to := n*round/mixRounds, n*(round+1)/mixRounds
				return server.post("/exposures", mixBody(`{"kind":"seen","user":"`, userName(i), from, to, 1))
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// mixBody is head, the name of a user, and the ids [from, to) of that user: one in every, and otherwise ids that nobody
// has seen.
func mixBody(head, user string, from, to, every int) []byte {
	body := append(make([]byte, 0, 20*(to-from+3)), head+user+`","items":[`...)
	for i := from; i < to; i++ {
		prefix := user
		if i%every != 0 {
			prefix = "new-----"
		}
		body = append(append(append(body, '"'), prefix...), '-')
		for _, power := range []int{100000, 10000, 1000, 100, 10, 1} { // much faster than Appendf
			body = append(body, byte('0'+i/power%10))
		}
		body = append(body, '"', ',')
	}
	return append(body[:len(body)-1], "]}"...)
}

// mixRequest asks for as many candidates as for the hot user; half of them the first user may have seen.
func mixRequest() []byte {
	return httpRequest("/filter", "application/octet-stream", mixBody(`{"user":"`, userName(0), 0, candidates, 2))
}

// events publishes reports of one item each, from a million users, and waits until the server has applied the last of
// them; relaxed, and synced beside the disk's own rate.
func (b *filterBench) events() (err error) {
	if b.r.Syncs, err = syncRate(b.Dir, time.Second); err != nil {
		return err
	}
	if b.r.EventsRelax, err = b.eventRate("relaxed", b.Events); err != nil {
		return err
	}
	b.r.EventsSync, err = b.eventRate("synced", b.Events/10)
	return err
}

func (b *filterBench) eventRate(durability string, n int) (float64, error) {
	server, err := b.startServer("", durability, "rotate", 256)
	if err != nil {
		return 0, err
	}
	defer server.stop()
	nc, err := nats.Connect(server.nats)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	var failed atomic.Int64
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(4096),
		jetstream.WithPublishAsyncErrHandler(func(jetstream.JetStream, *nats.Msg, error) { failed.Add(1) }))
	if err != nil {
		return 0, err
	}
	rng := rand.New(rand.NewPCG(3, 4))
	start := time.Now()
	for i := range n {
		body := fmt.Appendf(nil, `{"user":"user-%07d","items":["item-%09d"]}`, rng.IntN(1_000_000), i)
		for {
			if _, err = js.PublishAsync("exposures.seen.0", body); err == nil {
				break
			}
			if err := wait.For(b.ctx, time.Millisecond); err != nil { // too many are not acknowledged yet
				return 0, err
			}
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
	err = server.awaitMetric(b.ctx, `jianguo_exposure_events_total{kind="seen"}`, func(seen float64) bool {
		return int(seen) >= n-int(failed.Load())
	})
	if f := failed.Load(); f > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d events were refused", f, n))
	}
	return float64(n) / time.Since(start).Seconds(), err
}

// syncRate is the number of synced writes of 4 KiB a second that the disk takes.
func syncRate(dir string, d time.Duration) (float64, error) {
	f, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 4096)
	n, start := 0, time.Now()
	for ; time.Since(start) < d; n++ {
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(start).Seconds(), nil
}
