package ingest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"jianguo/bus"
	"jianguo/data"
	"jianguo/index"
	"jianguo/internal/testbed"
	"jianguo/segment"
)

// An article that was prepared when the recipe changed is prepared again.
func TestPreparedAgain(t *testing.T) {
	words := filepath.Join(t.TempDir(), "words")
	testbed.OK(t, os.WriteFile(words, []byte("巡查已经完成 3000 n\n"), 0o600))
	mine, err := segment.New(segment.Config{Data: data.FS})
	testbed.OK(t, err)
	next, err := segment.New(segment.Config{Data: data.FS, UserDict: words})
	testbed.OK(t, err)
	var waits atomic.Bool
	tried := make(chan struct{}, 1)
	r := start(t, t.TempDir(), func(c *Config, x *index.Config) {
		c.Segmenter = mine
		x.Fail = func(point string) error {
			if point != "batch" || !waits.Load() {
				return nil
			}
			select {
			case tried <- struct{}{}:
			default:
			}
			return errors.New("not yet")
		}
	})
	waits.Store(true)
	done := make(chan *Outcome)
	go func() {
		done <- r.submit(bus.SubjectPublish, Item{ID: "a", Body: "今天上午河段的巡查已经完成，没有发现异常。"})
	}()
	<-tried
	if _, err := r.index.Reindex(context.Background(), index.ReindexConfig{Recipe: next.Recipe(), Analyze: Analyzer(next)}, func() { mine.Become(next) }); err != nil {
		t.Fatal(err)
	}
	waits.Store(false)
	if o := <-done; o.Event == nil || o.Event.Recipe != next.Recipe() {
		t.Errorf("%+v, want recipe %s", o, next.Recipe())
	}
}
