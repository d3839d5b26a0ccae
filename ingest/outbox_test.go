package ingest

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"jianguo/bus"
)

// TestBeginWithoutTheBus: a service whose bus does not answer at the start compares later what it has judged since its
// start, and not all that was ever published.
func TestBeginWithoutTheBus(t *testing.T) {
	r := start(t, t.TempDir(), nil)
	r.submit(bus.SubjectPublish, Item{ID: "a", Body: "今天上午河段的巡查已经完成，没有发现异常。"})
	r.close()
	o := &outbox{js: r.js, stream: bus.StreamVerdicts, index: r.index, log: r.service.log, began: 1,
		catchesUp: func(context.Context) (bool, error) { return false, nil }}
	if after, err := o.begin(t.Context()); err == nil || after != 1 {
		t.Errorf("it goes on after event %d of 1: %v", after, err)
	}
}

// TestWarnOnce: a bus that takes nothing is one line of the log, and not five a second.
func TestWarnOnce(t *testing.T) {
	r := start(t, t.TempDir(), nil)
	r.submit(bus.SubjectPublish, Item{ID: "a", Body: "今天上午河段的巡查已经完成，没有发现异常。"})
	r.conn.Close()
	var log bytes.Buffer
	o := &outbox{js: r.js, stream: bus.StreamVerdicts, index: r.index, log: slog.New(slog.NewTextHandler(&log, nil)),
		woken: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := o.run(ctx, make(chan struct{})); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "not published"); n != 1 {
		t.Errorf("%d warnings: %s", n, &log)
	}
}
