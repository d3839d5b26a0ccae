//go:build linux && !race

// Not with the race detector: the embedded server, when it opens JetStream anew
// beside its own readers, trips it (nats-server 2.15, setJetStreamExportSubs
// against apiDispatch).

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
)

// TestDiskFull fills the disk under the real service, at once or so that the
// service itself takes the last of it. What is acknowledged meanwhile, if
// anything, is kept; as soon as there is room, ingest goes on by itself.
func TestDiskFull(t *testing.T) {
	onSmallDisk(t, func(t *testing.T, disk string) {
		for _, leave := range []int64{0, 64 << 10, 512 << 10} {
			t.Run(fmt.Sprint(leave), func(t *testing.T) { diskFull(t, filepath.Join(disk, fmt.Sprint(leave)), leave) })
		}
	})
}

func diskFull(t *testing.T, disk string, leave int64) {
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	k, _ := newKilled(t)
	k.data, k.args = filepath.Join(disk, "data"), []string{"--disk-reserve", "0"}
	cmd, url := k.serve()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	conn, err := bus.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	publisher, err := bus.NewPublisher(conn)
	if err != nil {
		t.Fatal(err)
	}
	submit := func(id string, wait time.Duration) error {
		b, err := json.Marshal(ingest.Item{ID: id, Body: fmt.Sprintf("编号%s的堤坝今晨完成巡查，抢险队已经撤回驻地休整。", id)})
		if err != nil {
			t.Fatal(err)
		}
		attempt, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		_, err = ingest.Submit(attempt, publisher, bus.SubjectPublish, b)
		if err == nil {
			k.acked[id] = true
		}
		return err
	}
	seen := seenOnBus{js: js, conn: conn}
	for i := range 20 {
		if err := seen.report(ctx, patience); err != nil {
			t.Fatalf("%v\n%s", err, cmd.Stderr)
		}
		if err := submit(fmt.Sprint("before-", i), patience); err != nil {
			t.Fatalf("%v\n%s", err, cmd.Stderr)
		}
	}
	release := fill(t, disk, leave)
	refused := 0
	for i := 0; refused < 6; i++ {
		if err := submit(fmt.Sprint("meanwhile-", i), 500*time.Millisecond); err != nil {
			refused++
		}
		_ = seen.report(ctx, 500*time.Millisecond)
		if ctx.Err() != nil {
			t.Fatal("a full disk was no trouble at all")
		}
	}
	release()
	for i := 0; ; i++ {
		err := submit(fmt.Sprint("after-", i), 2*time.Second)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			_ = cmd.Process.Signal(syscall.SIGQUIT)
			_ = cmd.Wait()
			t.Fatalf("there is room again, and still: %v\n%s", err, cmd.Stderr)
		}
	}
	for {
		err := seen.report(ctx, 2*time.Second)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("there is room again, and still: %v\n%s", err, cmd.Stderr)
		}
	}
	seen.all(ctx, t)
	conn.Close()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	// Where it hangs, it is made to say so.
	hangs := time.AfterFunc(patience, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer hangs.Stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("an orderly end: %v\n%s", err, cmd.Stderr)
	}
	if out, err := exec.Command(k.binary, "verify", "--data", k.data).CombinedOutput(); err != nil {
		t.Fatalf("verify: %v\n%s", err, out)
	}
	x, err := index.Open(ctx, index.Config{Dir: k.data})
	if err != nil {
		t.Fatal(err)
	}
	for id := range k.acked {
		if _, err := x.Item(ctx, id); err != nil {
			t.Errorf("acknowledged and lost: %v", err)
		}
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("%d items acknowledged, %d exposures", len(k.acked), len(seen.acked))
	k.forget(disk)
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

// all waits until everything that was acknowledged is filtered out.
func (s *seenOnBus) all(ctx context.Context, t *testing.T) {
	t.Helper()
	request, err := json.Marshal(map[string]any{"user": "u", "items": s.acked})
	if err != nil {
		t.Fatal(err)
	}
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
