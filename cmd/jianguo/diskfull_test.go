//go:build linux && !race

// Not with the race detector: it reports a race inside the embedded server, which opens
// JetStream again while its own readers run (nats-server 2.15, setJetStreamExportSubs
// against apiDispatch).

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"jianguo/internal/fixture"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/testbed"
)

// TestDiskFull fills the disk under the real service, completely or so that the service
// itself takes the last of it. Anything acknowledged meanwhile is kept. Ingest goes on by
// itself as soon as there is space.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	withOwnMounts(t, func(t *testing.T) {
		for _, leave := range []int64{0, 64 << 10, 512 << 10} {
			t.Run(fmt.Sprint(leave), func(t *testing.T) {
				t.Parallel()
				diskFull(t, smallDisk(t), leave)
			})
		}
	})
}

func diskFull(t *testing.T, disk string, leave int64) {
	k, _ := newKilled(t, "--disk-reserve", "0")
	k.data = filepath.Join(disk, "data")
	k.start()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	js := k.jetstream()
	seen := seenOnBus{js: js, conn: js.Conn()}
	submit := func(id string, wait time.Duration) error { return k.submit(ctx, js, id, wait) }
	for i := range 20 {
		if err := errors.Join(seen.report(ctx, patience), submit(fmt.Sprint("before-", i), patience)); err != nil {
			t.Fatalf("%v\n%s", err, k.log)
		}
	}
	release := fill(t, disk, leave)
	for i, refused := 0, 0; refused < testbed.Count(3, 6, 60); i++ {
		if err := submit(fmt.Sprint("meanwhile-", i), 500*time.Millisecond); err != nil {
			refused++
		}
		_ = seen.report(ctx, 500*time.Millisecond)
		if ctx.Err() != nil {
			t.Fatal("a full disk was no trouble at all")
		}
	}
	release()
	k.untilDone(ctx, func(i int) error { return submit(fmt.Sprint("after-", i), 2*time.Second) })
	k.untilDone(ctx, func(int) error { return seen.report(ctx, 2*time.Second) })
	seen.all(ctx, t)
	js.Conn().Close()
	k.stop()
	k.keptAll(ctx)
	t.Logf("%d items acknowledged, %d exposures", len(k.acked), len(seen.acked))
}

// submit publishes an item and waits for its verdict.
func (k *killed) submit(ctx context.Context, js jetstream.JetStream, id string, wait time.Duration) error {
	b, err := json.Marshal(ingest.Item{ID: id, Body: fmt.Sprintf("编号%s的堤坝今晨完成巡查，抢险队已经撤回驻地休整。", id)})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if _, err = fixture.Submit(ctx, js, bus.SubjectPublish, b); err == nil {
		k.acked[id] = true
	}
	return err
}

// untilDone tries something until it succeeds.
func (k *killed) untilDone(ctx context.Context, try func(i int) error) {
	k.t.Helper()
	for i := 0; ; i++ {
		err := try(i)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			k.hang("there is room again, but: %v", err)
		}
	}
}

// keptAll checks that every acknowledged item is in the catalogue.
func (k *killed) keptAll(ctx context.Context) {
	k.t.Helper()
	x, err := index.Open(ctx, index.Config{Dir: k.data})
	testbed.OK(k.t, err)
	for id := range k.acked {
		if _, err := x.Item(ctx, id); err != nil {
			k.t.Errorf("acknowledged and lost: %v", err)
		}
	}
	if err := x.Close(); err != nil {
		k.t.Error(err)
	}
}

// seenOnBus reports one item after another as seen by one user.
type seenOnBus struct {
	js    jetstream.JetStream
	conn  *nats.Conn
	n     int
	acked []string
}

func (s *seenOnBus) report(ctx context.Context, wait time.Duration) error {
	s.n++
	item := fmt.Sprint("seen-", s.n)
	attempt, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_, err := s.js.Publish(attempt, "exposures.seen.0", fmt.Appendf(nil, `{"user":"u","items":[%q]}`, item))
	if err == nil {
		s.acked = append(s.acked, item)
	}
	return err
}

// all waits until every acknowledged id is filtered out.
func (s *seenOnBus) all(ctx context.Context, t *testing.T) {
	t.Helper()
	request, err := json.Marshal(map[string]any{"user": "u", "items": s.acked})
	testbed.OK(t, err)
	for {
		var got struct{ Items []string }
		reply, err := s.conn.RequestWithContext(ctx, "exposures.filter", request)
		if err == nil {
			err = json.Unmarshal(reply.Data, &got)
		}
		if err != nil {
			t.Fatalf("filter: %v", err)
		}
		if reply.Header.Get("Nats-Service-Error") == "" && len(got.Items) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("acknowledged and not filtered: %s %v", got.Items, reply.Header)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
