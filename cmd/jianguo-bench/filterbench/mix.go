package filterbench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/datadir"
)

// StateFile is the name of the state file in a server's directory.
const StateFile = "exposure.db"

// mix builds a user base, measures the size of its file, and sends requests for users
// that are not in memory.
func (b *bench) mix() error {
	dir, err := os.MkdirTemp(b.Dir, "mix-")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, StateFile)
	start := time.Now()
	last := start
	if err := buildUserBase(b.ctx, path, b.Policy, b.Users, b.Mix, 4, func(done, of int) {
		if time.Since(last) > 10*time.Second {
			last = time.Now()
			b.say("%d %%", 100*done/of)
		}
	}); err != nil {
		return err
	}
	// The file of users belongs to the directory, and the service makes the rest.
	if err := datadir.Record(dir); err != nil {
		return err
	}
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	b.r.MixUsers = b.Users
	b.r.FileMix = float64(fi.Size()) / float64(b.Users)
	b.say("%d users built in %s: %.0f bytes a user in the file", b.Users, time.Since(start).Round(time.Second), b.r.FileMix)
	cacheMB := max(16, int(b.r.FileMix*float64(b.Users)/10/(1<<20)))
	srv, err := b.startServer(serverArgs{dir: dir, relaxed: true, policy: b.Policy.String(), cacheMB: cacheMB})
	if err != nil {
		return err
	}
	defer srv.Stop()
	// Every user is asked for once, in random order.
	var asked atomic.Int64
	perm := rand.New(rand.NewPCG(1, 2)).Perm(b.Users)
	cold := b.coldRequests()
	next := func(_ int, buf []byte) []byte { return cold(perm[int(asked.Add(1)-1)%b.Users], buf) }
	control, err := b.startControl(b.Candidates / 8)
	if err != nil {
		return err
	}
	defer control.Stop()
	st, err := srv.steady(b.ctx, next, control, func(k int, buf []byte) []byte { return cold(k%b.Users, buf) }, pace{b.Rate, 0.5}, b.Each)
	if err != nil {
		return err
	}
	b.r.ColdRate, b.r.ColdUsers = st.rate, int(asked.Load())
	b.r.ColdBusy, b.r.ColdP50, b.r.ColdP99, b.r.ColdSlice99, b.r.ColdLate99 = st.own.busy, st.own.p50, st.own.p99, st.own.slice99, st.own.late99
	b.r.ColdQuiet99, b.r.ColdQuiet, b.r.ControlColdQ = st.own.quiet99, st.own.quiet, st.control.quiet99
	b.r.ControlCold50, b.r.ControlCold99, b.r.ControlColdS = st.control.p50, st.control.p99, st.control.slice99
	hits, err1 := srv.Metric(b.ctx, "jianguo_exposure_cache_hits_total")
	misses, err2 := srv.Metric(b.ctx, "jianguo_exposure_cache_misses_total")
	if err1 != nil || err2 != nil {
		return fmt.Errorf("%w %w", err1, err2)
	}
	b.say("cold users: peak %.0f/s; at %.0f/s: %s; cache of %d MiB: %.0f hits, %.0f misses", st.peak, st.rate, st, cacheMB, hits, misses)
	return nil
}

// coldRequests asks for as many candidates as for the hot user; half of them the user
// may have seen. A request is a copy of a template with the user's name written into it:
// to build it from nothing would take longer than the server's work.
func (b *bench) coldRequests() func(user int, buf []byte) []byte {
	type template struct {
		req   []byte
		names []int // offsets of the name
	}
	made := map[int]template{} // by the length of the name; not written to below
	for i := 1; ; i *= 10 {
		name := userName(min(i, b.Users) - 1)
		if _, ok := made[len(name)]; !ok {
			t := template{req: httpRequest("/filter", "application/octet-stream", b.coldBody(name))}
			for at := 0; ; at += len(name) {
				next := bytes.Index(t.req[at:], []byte(name))
				if next < 0 {
					break
				}
				at += next
				t.names = append(t.names, at)
			}
			made[len(name)] = t
		}
		if i >= b.Users {
			break
		}
	}
	return func(user int, buf []byte) []byte {
		name := userName(user)
		t := made[len(name)]
		buf = append(buf[:0], t.req...)
		for _, at := range t.names {
			copy(buf[at:], name)
		}
		return buf
	}
}

func (b *bench) coldBody(name string) []byte {
	body := append(make([]byte, 0, 20*b.Candidates), `{"user":"`...)
	body = append(append(body, name...), `","items":[`...)
	for i := range b.Candidates {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, '"')
		if i%2 == 0 {
			body = append(body, name...)
		} else {
			body = append(body, "other"...)
		}
		body = append(body, '-', byte('0'+i/100000%10), byte('0'+i/10000%10), byte('0'+i/1000%10),
			byte('0'+i/100%10), byte('0'+i/10%10), byte('0'+i%10), '"')
	}
	return append(body, "]}"...)
}

// events publishes reports of one item each, from a million users, and waits until the
// server has applied the last of them; relaxed, and synced beside the disk's own rate.
func (b *bench) events() error {
	var err error
	if b.r.Syncs, err = syncRate(b.Dir, time.Second); err != nil {
		return err
	}
	for _, m := range []struct {
		relaxed bool
		n       int
		rate    *float64
	}{{true, b.Events, &b.r.EventsRelax}, {false, b.Events / 10, &b.r.EventsSync}} {
		srv, err := b.startServer(serverArgs{relaxed: m.relaxed, policy: "rotate", cacheMB: 256})
		if err != nil {
			return err
		}
		*m.rate, err = b.publish(srv, m.n)
		srv.Stop()
		if err != nil {
			return err
		}
		b.say("relaxed %v: %d events, %.0f/s to the last one applied", m.relaxed, m.n, *m.rate)
	}
	b.say("the disk syncs %.0f times a second", b.r.Syncs)
	return nil
}

func (b *bench) publish(srv *server, n int) (float64, error) {
	nc, err := nats.Connect(srv.nats)
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
			if b.ctx.Err() != nil {
				return 0, b.ctx.Err()
			}
			time.Sleep(time.Millisecond)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
	for {
		seen, err := srv.Metric(b.ctx, `jianguo_exposure_events_total{kind="seen"}`)
		if err != nil {
			return 0, err
		}
		if int(seen) >= n-int(failed.Load()) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(start)
	if f := failed.Load(); f > 0 {
		return 0, fmt.Errorf("%d of %d events were refused", f, n)
	}
	return float64(n) / took.Seconds(), nil
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
		if err := datasync(f); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(start).Seconds(), nil
}
