package ingest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/internal/testbed"
)

// The catalogue does not say that an item is applied before the stream has it for
// good, though it may have judged it: a sync takes until the catalogue waits for it.
func TestAppliedAfterSynced(t *testing.T) {
	var waits sync.Once
	waiting, held := make(chan struct{}), make(chan struct{}, 1)
	held <- struct{}{}
	var applied atomic.Bool
	fail := func(point string) error {
		switch point {
		case "waiting":
			waits.Do(func() { close(waiting) })
		case "sync":
			select {
			case <-held: // the first
			default:
				return nil
			}
			select {
			case <-waiting:
			case <-time.After(30 * time.Second):
				t.Error("ingest does not wait for the sync")
			}
			if applied.Load() {
				t.Error("an item was applied that was not synced")
			}
		}
		return nil
	}
	r := startOn(t, bus.Config{Dir: t.TempDir(), Fail: fail, Gates: bus.GatedStreams()}, func(_ *Config, ic *index.Config) {
		ic.Fail = func(point string) error {
			if point == "batch" { // the commit is next
				applied.Store(true)
				waits.Do(func() { close(waiting) })
			}
			return nil
		}
	})
	for i := range 5 {
		r.submit(bus.SubjectPublish, Item{ID: fmt.Sprint("i", i), Body: "水库今晨开闸泄洪，下游的村民已经转移。"})
	}
	if len(held) > 0 || !applied.Load() {
		t.Error("nothing was tried")
	}
	r.verify()
}

// An item that is synced does not wait for one that arrived while the batch before was applied and is being synced.
func TestSyncedDoesNotWait(t *testing.T) {
	var hold atomic.Bool
	synced, applying, applied := make(chan struct{}), make(chan struct{}), make(chan struct{})
	fail := func(point string) error {
		if point == "sync" && hold.Load() {
			<-synced
		}
		return nil
	}
	metrics := prometheus.NewRegistry()
	r := startOn(t, bus.Config{Dir: t.TempDir(), Fail: fail, Gates: bus.GatedStreams()}, func(c *Config, ic *index.Config) {
		var first sync.Once
		c.Metrics, ic.Fail = metrics, func(point string) error {
			if point == "batch" {
				first.Do(func() { close(applying); <-applied })
			}
			return nil
		}
	})
	endApply, endSync := sync.OnceFunc(func() { close(applied) }), sync.OnceFunc(func() { close(synced) })
	t.Cleanup(func() { endApply(); endSync() })
	publish := func(id string) jetstream.PubAckFuture {
		t.Helper()
		f, err := r.js.PublishAsync(bus.SubjectPublish, []byte(`{"id":"`+id+`","body":"水库今晨开闸泄洪，下游的村民已经转移。"}`))
		testbed.OK(t, err)
		return f
	}
	publish("first")
	<-applying
	<-publish("synced").Ok()
	hold.Store(true)
	last := publish("last")
	r.eventually("all three are prepared", func() bool {
		shown, _ := metrics.Gather()
		for _, f := range shown {
			for _, m := range f.Metric {
				if f.GetName() == "jianguo_ingest_stage_seconds" && m.Label[0].GetValue() == "prepare" {
					return m.Histogram.GetSampleCount() == 3
				}
			}
		}
		return false
	})
	endApply()
	has := func(id string) bool { _, err := r.index.Item(t.Context(), id); return err == nil }
	r.eventually("the item that is synced is applied", func() bool { return has("synced") })
	if has("last") {
		t.Error("an item was applied that was not synced")
	}
	endSync()
	<-last.Ok()
	r.eventually("the last item is applied", func() bool { return has("last") })
	r.verify()
}

// After a failed sync nothing is acknowledged or applied. The next start rewrites the
// files and continues.
func TestSyncFails(t *testing.T) {
	dir := t.TempDir()
	var broken atomic.Bool
	fail := func(point string) error {
		if point == "sync" && broken.Load() {
			return errors.New("input/output error")
		}
		return nil
	}
	r := startOn(t, bus.Config{Dir: dir, Fail: fail, Gates: bus.GatedStreams()}, nil)
	r.submit(bus.SubjectPublish, Item{ID: "before", Body: "水库今晨开闸泄洪，下游的村民已经转移。"})
	broken.Store(true)
	for _, subject := range []string{bus.SubjectPublish, bus.SubjectPublish, bus.SubjectWithdraw} {
		_, err := r.js.Publish(t.Context(), subject, []byte(`{"id":"meanwhile","body":"地铁新线今天开始试运行。"}`))
		var api *jetstream.APIError
		if !errors.As(err, &api) || api.ErrorCode != 10023 || api.Code != 503 || !strings.Contains(api.Description, "could not be synced") {
			t.Fatalf("published to a stream that cannot be synced: %v", err)
		}
		broken.Store(false) // that it works again is not to be believed
	}
	for deadline := time.Now().Add(30 * time.Second); r.service.Ready() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the service is ready")
		}
	}
	if _, err := r.index.Item(t.Context(), "meanwhile"); !errors.Is(err, index.ErrNotFound) {
		t.Errorf("an item that is not durable: %v", err)
	}
	r.close()
	block := filepath.Join(dir, "bus", "jetstream", "$G", "streams", bus.StreamItems, "msgs", "1.blk")
	before, err := os.Stat(block)
	testbed.OK(t, err)
	r = startOn(t, bus.Config{Dir: dir, Gates: bus.GatedStreams()}, nil)
	after, err := os.Stat(block)
	if err != nil || os.SameFile(before, after) {
		t.Errorf("the file that could not be synced is still there: %v", err)
	}
	r.submit(bus.SubjectPublish, Item{ID: "after", Body: "法院今天作出判决，公司须赔偿。"})
	if _, err := r.index.Item(t.Context(), "before"); err != nil {
		t.Error(err)
	}
	r.verify()
	r.close()
	if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(block)), "unsynced")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still marked as unsynced: %v", err)
	}
}
