package ingest

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	dto "github.com/prometheus/client_model/go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest/prepared"
	"jianguo/ingest/prepared/encode"
	"jianguo/segment"
)

// unreliable is a segmenter whose answers are right, or wrong in all ways that a service can notice.
type unreliable struct {
	t       *testing.T
	conn    *nats.Conn
	text    segment.Text
	answers int // of the subscription, as the rest
	most    int // items in a request
	right   int // articles that are to be used
}

// kinds is how many kinds of answers there are.
const kinds = 7

// article is an item's, with its recipe; nil where the item is refused.
func (u *unreliable) article(item []byte) []byte {
	it, err := DecodeItem(item)
	if err != nil {
		return nil
	}
	a := Prepare(segmenter, &u.text, it)
	a.Packed = index.PackText(it.Body)
	return encode.Append(nil, a)
}

func (u *unreliable) answer(m *nats.Msg) {
	items, err := prepared.DecodeMessage(m.Data)
	if err != nil || len(items) == 0 {
		u.t.Errorf("a request of %d items: %v", len(items), err)
	}
	recipe, articles, right := segmenter.Recipe(), [][]byte{}, 0
	for _, item := range items {
		articles = append(articles, u.article(item))
	}
	kind := u.answers % kinds
	switch kind {
	case 0:
		right = len(items)
	case 1: // an article too few
		articles = articles[:len(items)-1]
	case 2: // articles of another recipe, and of another text
		recipe = "another"
		for i := range articles {
			articles[i] = u.article([]byte(`{"id":"other","body":"地铁新线今天开始试运行，车站换乘客流平稳。"}`))
		}
	case 3: // every second one
		for i := range articles {
			if i%2 == 0 {
				articles[i] = nil
			} else {
				right++
			}
		}
	case 4: // every second one cut short
		for i := range articles {
			if i%2 == 0 {
				articles[i] = articles[i][:len(articles[i])/2]
			} else {
				right++
			}
		}
	}
	b := prepared.Append([]byte{prepared.Version}, []byte(recipe))
	for _, a := range articles {
		b = prepared.Append(b, a)
	}
	switch kind {
	case 5: // nothing
		b = nil
	case 6: // a message cut short
		b = b[:len(b)-1]
	}
	u.answers++
	u.most, u.right = max(u.most, len(items)), u.right+right
	if err := m.Respond(b); err != nil {
		u.t.Error(err)
	}
}

// What a segmenter does not answer as it should, the service prepares itself: verdicts are the same, and nothing is
// used that this process would not have prepared.
func TestAnswersOfSegmenters(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	conn, err := s.bus.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	u := &unreliable{t: t, conn: conn}
	requests := make(chan *nats.Msg, 64)
	if _, err := conn.ChanSubscribe(bus.SubjectSegment+"me", requests); err != nil {
		t.Fatal(err)
	}
	beat, err := json.Marshal(prepared.Beat{ID: "me", Terms: prepared.Terms(segmenter.Recipe()), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	enough, ended := make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for beats, told := time.NewTicker(prepared.BeatEvery), false; ; {
			if err := conn.Publish(bus.SubjectSegmenter, beat); err != nil {
				t.Error(err)
			}
			select {
			case m := <-requests:
				u.answer(m)
			case <-beats.C:
			case <-ended:
				return
			}
			if !told && u.answers >= 3*kinds && u.most > 1 {
				close(enough)
				told = true
			}
		}
	}()
	s.eventually("the segmenter is known", func() bool {
		s.service.segmenters.mu.Lock()
		defer s.service.segmenters.mu.Unlock()
		return len(s.service.segmenters.known) > 0
	})
	r := rand.New(rand.NewPCG(5, 5))
	var items []any
	for !closed(enough) {
		if len(items) > 100_000 {
			t.Fatal("the segmenter is not asked for several items at once")
		}
		more := relatives(r, 300)
		items = append(items, more...)
		publishInOrder(s, more, len(items))
	}
	close(ended)
	<-done
	var used dto.Metric
	if err := s.service.metrics.prepared.Write(&used); err != nil {
		t.Fatal(err)
	}
	if n := int(used.Counter.GetValue()); n == 0 || n > u.right { // an answer may be late
		t.Errorf("%d articles were used, %d were right", n, u.right)
	}
	alone := start(t, t.TempDir(), nil)
	for some := range slices.Chunk(items, 1000) {
		publishInOrder(alone, some, 0)
	}
	alone.eventually("all is applied", func() bool { return alone.service.Waiting(uint64(len(items))) == 0 })
	if diff := cmp.Diff(timeless(t, alone), timeless(t, s)); diff != "" {
		t.Errorf("(-alone +with a segmenter):\n%s", diff)
	}
	s.verify()
	alone.verify()
}

// publishInOrder publishes items, and waits until the stream ends at last and all is applied; 0: it does not.
func publishInOrder(s *testService, items []any, last int) {
	s.t.Helper()
	for _, item := range items {
		b, err := json.Marshal(item)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.js.PublishAsync(subjectOf(item), b); err != nil {
			s.t.Fatal(err)
		}
	}
	select {
	case <-s.js.PublishAsyncComplete():
	case <-time.After(patience):
		s.t.Fatal("the bus does not take the items")
	}
	if last > 0 {
		s.eventually("all is applied", func() bool { return s.service.Waiting(uint64(last)) == 0 })
	}
}

// A segmenter of an earlier version, which would take a request for one item, is told to end.
func TestSegmenterOfAnEarlierVersion(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.eventually("the service listens", func() bool {
		m, err := s.conn.RequestWithContext(ctx, bus.SubjectSegmenter, []byte(`{"id":"old","recipe":"`+segmenter.Recipe()+`","workers":1}`))
		return err == nil && string(m.Data) == prepared.Terms(segmenter.Recipe())
	})
	s.service.segmenters.mu.Lock()
	defer s.service.segmenters.mu.Unlock()
	if len(s.service.segmenters.known) > 0 {
		t.Error("it is known all the same")
	}
}
