package ingest

import (
	"context"
	"testing"

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
