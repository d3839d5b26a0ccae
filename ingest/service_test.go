package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/index/verdict"
	"jianguo/internal/testbed"
)

// TestSerialEquivalence: whatever the batching, the workers and the number of
// publishers, the verdicts are those of applying the stream one by one.
func TestSerialEquivalence(t *testing.T) {
	for _, rules := range []string{verdict.RulesJianguo, index.RulesHamming} {
		t.Run(rules, func(t *testing.T) {
			policy := index.DefaultPolicy()
			policy.Rules = rules
			for round := range testbed.Count(1, 3, 3) {
				r := rand.New(rand.NewPCG(11, uint64(round)))
				items := relatives(r, 240)
				many := start(t, t.TempDir(), func(c *Config, i *index.Config) {
					c.Workers, c.Batch, i.Policy = 1+r.IntN(6), 1+r.IntN(64), &policy
				})
				order := publishAll(many, items, 8)
				one := start(t, t.TempDir(), func(c *Config, i *index.Config) { c.Workers, c.Batch, i.Policy = 1, 1, &policy })
				for _, item := range order {
					one.submit(subjectOf(item), item)
				}
				got, want := timeless(t, many), timeless(t, one)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("round %d (-one by one +together):\n%s", round, diff)
				}
				many.verify()
				one.verify()
			}
		})
	}
}

// publishAll publishes items from several publishers and returns them in the
// order of the stream.
func publishAll(r *testService, items []any, publishers int) []any {
	r.t.Helper()
	var mu sync.Mutex
	bySeq := map[uint64]any{}
	var wg sync.WaitGroup
	next := make(chan any)
	for range publishers {
		wg.Go(func() {
			for item := range next {
				o, err := r.trySubmit(subjectOf(item), item)
				if err != nil {
					r.t.Error(err)
					return
				}
				mu.Lock()
				bySeq[o.Seq] = item
				mu.Unlock()
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	wg.Wait()
	seqs := make([]uint64, 0, len(bySeq))
	for seq := range bySeq {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	order := make([]any, len(seqs))
	for i, seq := range seqs {
		order[i] = bySeq[seq]
	}
	return order
}

func timeless(t testing.TB, r *testService) []index.Event {
	t.Helper()
	events, err := r.index.Events(context.Background(), 0, 1<<30)
	testbed.OK(t, err)
	for i := range events {
		events[i].At = time.Time{}
	}
	return events
}

// TestOneOfManyIsAccepted: of 64 near-identical items at once exactly one is
// accepted, in each of many rounds.
func TestOneOfManyIsAccepted(t *testing.T) {
	t.Parallel()
	rounds := testbed.Count(30, 100, 100)
	svc := start(t, t.TempDir(), nil)
	r := rand.New(rand.NewPCG(3, 3))
	for round := range rounds {
		text := strings.Join(sentence(r, 90), "")
		var items []any
		for i := range 64 {
			items = append(items, Item{ID: fmt.Sprintf("r%d-%d", round, i), Body: text + strings.Repeat("！", i%7)})
		}
		publishAll(svc, items, 16)
	}
	events, err := svc.index.Events(context.Background(), 0, 1<<30)
	testbed.OK(t, err)
	accepted := map[string]int{}
	for _, e := range events {
		if e.Verdict.Accepted() {
			accepted[strings.Split(e.ID, "-")[0]]++
		}
	}
	for round := range rounds {
		if n := accepted[fmt.Sprint("r", round)]; n != 1 {
			t.Errorf("round %d: %d accepted", round, n)
		}
	}
	svc.verify()
}

func TestRevisionsAndWithdrawals(t *testing.T) {
	svc := start(t, t.TempDir(), nil)
	r := rand.New(rand.NewPCG(5, 5))
	first := strings.Join(sentence(r, 80), "")
	second := first + strings.Join(sentence(r, 20), "")
	expect := func(step string, o *Outcome, verdict index.Verdict, changed bool) {
		t.Helper()
		if o.Event == nil || o.Event.Verdict != verdict || o.Changed != changed {
			t.Fatalf("%s: %+v, want %s, changed %v", step, o, verdict, changed)
		}
	}
	publish := func(id, body string, revision int64) *Outcome {
		return svc.submit(bus.SubjectPublish, Item{ID: id, Body: body, Revision: revision})
	}
	expect("first", publish("a", first, 1), index.Unique, true)
	expect("revised", publish("a", second, 2), index.Unique, true)
	expect("an old one, delivered late", publish("a", first, 1), index.Unique, false)
	expect("a copy of the old text", publish("b", first, 0), index.Duplicate, true)
	expect("withdrawn", svc.submit(bus.SubjectWithdraw, Withdrawal{ID: "a"}), index.Withdrawn, true)
	expect("published again after that", publish("a", second, 2), index.Withdrawn, false)
	expect("without a revision", publish("a", second, 0), index.Withdrawn, false)
	o := publish("c", second, 0)
	expect("a copy of a blocked text", o, index.Duplicate, true)
	if o.Event.Rule != index.ByBlocked {
		t.Errorf("rule %s", o.Event.Rule)
	}
	expect("re-instated", publish("a", second, 3), index.Unique, true)
	// An edit war: each id takes the other's text in turn.
	expect("d", publish("d", strings.Join(sentence(r, 80), ""), 1), index.Unique, true)
	third, fourth := strings.Join(sentence(r, 80), ""), strings.Join(sentence(r, 80), "")
	expect("war 1", publish("e", third, 1), index.Unique, true)
	expect("war 2", publish("f", fourth, 1), index.Unique, true)
	expect("war 3", publish("e", fourth, 2), index.Duplicate, true)
	expect("war 4", publish("f", third, 2), index.Unique, true)
	expect("war 5", publish("e", third, 3), index.Duplicate, true)
	expect("promoted", svc.submit(bus.SubjectWithdraw, Withdrawal{ID: "f", Mode: ModePromote}), index.Withdrawn, true)
	it, err := svc.index.Item(context.Background(), "e")
	testbed.OK(t, err)
	if it.Event.Verdict != index.Unique || it.Event.Cause != index.CausePromotion {
		t.Errorf("the heir is %s by %s", it.Event.Verdict, it.Event.Cause)
	}
	svc.verify()
}

// TestCrashBetweenCommitAndAck: what was committed and not acknowledged is
// delivered again, and changes nothing.
func TestCrashBetweenCommitAndAck(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(8, 8))
	crash := errors.New("crash")
	applied := 0
	for round := range 6 {
		var crashed atomic.Bool
		svc := start(t, dir, func(c *Config, _ *index.Config) {
			c.Batch = 4
			c.Fail = func(string) error {
				if applied++; applied%3 == 0 {
					crashed.Store(true)
					return crash
				}
				return nil
			}
		})
		for i := range 10 {
			b, err := json.Marshal(Item{ID: fmt.Sprintf("%d-%d", round, i), Body: strings.Join(sentence(r, 60), "")})
			testbed.OK(t, err)
			if _, err := svc.js.Publish(context.Background(), bus.SubjectPublish, b); err != nil {
				t.Fatal(err)
			}
		}
		svc.eventually("crashed, or done", func() bool {
			_, events := svc.index.Applied()
			return crashed.Load() || int(events) == 10*(round+1)
		})
		if err := svc.stop(); err != nil && !errors.Is(err, crash) {
			t.Fatal(err)
		}
		svc.close()
	}
	svc := start(t, dir, nil)
	svc.submit(bus.SubjectPublish, Item{ID: "last", Body: strings.Join(sentence(r, 60), "")})
	for round := range 6 {
		for i := range 10 {
			if _, err := svc.index.Item(context.Background(), fmt.Sprintf("%d-%d", round, i)); err != nil {
				t.Error(err)
			}
		}
	}
	if _, events := svc.index.Applied(); events != 61 {
		t.Errorf("%d events, want 61", events)
	}
	svc.verify()
}

// TestDiskFull: items wait on the bus until the catalogue can be written.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	var full atomic.Int64 // how often more there is no room
	svc := start(t, t.TempDir(), func(_ *Config, i *index.Config) {
		i.Fail = func(string) error {
			if full.Add(-1) >= 0 {
				return errors.New("database or disk is full")
			}
			return nil
		}
	})
	svc.submit(bus.SubjectPublish, Item{ID: "before", Body: "地铁新线今天开始试运行，换乘车站的客流平稳。"})
	full.Store(3)
	if o := svc.submit(bus.SubjectPublish, Item{ID: "x", Body: "水库今晨开闸泄洪，下游的村民已经转移。"}); o.Event.Verdict != index.Unique {
		t.Errorf("%+v", o)
	}
	if full.Load() >= 0 {
		t.Error("the disk was never full")
	}
	svc.verify()
}

// TestDecisionsArePublished: what an editor decides is on VERDICTS at once, not
// with the next article.
func TestDecisionsArePublished(t *testing.T) {
	svc := start(t, t.TempDir(), nil)
	sub, err := svc.conn.SubscribeSync(bus.SubjectVerdicts + ">")
	testbed.OK(t, err)
	const body = "水库今晨开闸泄洪，下游的村民已经转移到高处，电站停机检修三天，渡口同时封航。"
	svc.submit(bus.SubjectPublish, Item{ID: "first", Body: body})
	svc.submit(bus.SubjectPublish, Item{ID: "copy", Body: body})
	next := func() (e index.Event) {
		t.Helper()
		m, err := sub.NextMsg(time.Minute)
		if err == nil {
			err = json.Unmarshal(m.Data, &e)
		}
		testbed.OK(t, err)
		return e
	}
	next()
	next()
	d, err := svc.service.Edit(context.Background(), index.Edit{Decision: &index.DecisionRequest{Kind: index.Release, Item: "copy", By: "editor"}})
	testbed.OK(t, err)
	if e := next(); e.ID != "copy" || e.Verdict != index.Unique || e.Cause != index.CauseEditor {
		t.Errorf("%+v", e)
	}
	if _, err := svc.service.Edit(context.Background(), index.Edit{Decision: &index.DecisionRequest{Kind: index.Undo, Undo: d.Number, By: "editor"}}); err != nil {
		t.Fatal(err)
	}
	if e := next(); e.ID != "copy" || e.Verdict != index.Duplicate {
		t.Errorf("%+v", e)
	}
	svc.verify()
}

func TestDeadLetters(t *testing.T) {
	var opened atomic.Pointer[bus.DeadLetters]
	var refused, batches atomic.Uint64
	ctx := context.Background()
	svc := start(t, t.TempDir(), func(_ *Config, c *index.Config) {
		c.Fail = func(point string) error {
			if dead := opened.Load(); dead != nil && point == "batch" {
				batches.Add(1)
				if n, err := dead.Len(ctx); err != nil || n != refused.Load() {
					t.Errorf("%d of %d letters in DEAD before their batch: %v", n, refused.Load(), err)
				}
			}
			return nil
		}
	})
	dead, err := bus.OpenDead(ctx, svc.conn, "")
	testbed.OK(t, err)
	opened.Store(dead)
	for _, c := range []struct{ payload, field string }{
		{`{`, "payload"}, {`[]`, "payload"}, {`null`, "payload"}, {"\xff", "payload"}, {`{"body":"x"}`, "id"}, {`{"id":"","body":"x"}`, "id"},
		{`{"id":"a\u0000b","body":"x"}`, "id"}, {`{"id":"\ud800","body":"x"}`, "id"}, {`{"id":1.5,"body":"x"}`, "id"},
		{`{"id":"` + strings.Repeat("长", 90) + `","body":"x"}`, "id"}, {`{"id":"a"}`, "body"}, {`{"id":"a","body":7}`, "body"},
		{`{"id":"a","body":"x","revision":-1}`, "revision"}, {`{"id":"a","body":"x","revision":"1"}`, "revision"},
		{`{"id":"a","body":"x","revision":9223372036854775808}`, "revision"},
		{`{"id":"a","body":"x","published_at":"gestern"}`, "published_at"},
		{`{"id":"a","body":"x","published_at":"9999-12-31T23:59:59-23:00"}`, "published_at"}, {`{"id":"b","id":"a","body":"x"}`, "id"},
		{`{"id":"a","body":"` + strings.Repeat("文", MaxText/3+1) + `"}`, "body"},
	} {
		refused.Add(1)
		o, err := svc.trySubmit(bus.SubjectPublish, []byte(c.payload))
		if err != nil {
			t.Fatalf("%.40q: %v", c.payload, err)
		}
		if o.Error == "" || o.Field != c.field {
			t.Errorf("%.40q: %+v, want field %s", c.payload, o, c.field)
		}
	}
	if opened.Store(nil); batches.Load() == 0 {
		t.Error("no batch was applied")
	}
	letters, err := dead.List(ctx, 0, 100)
	testbed.OK(t, err)
	if len(letters) != 19 {
		t.Errorf("%d dead letters, want 19", len(letters))
	}
	testbed.OK(t, dead.Replay(ctx, letters[0].Number))
	svc.submit(bus.SubjectPublish, Item{ID: "after", Body: "水库今晨开闸泄洪，下游的村民已经转移。"})
	if letters, err = dead.List(ctx, 0, 100); err != nil || len(letters) != 19 {
		t.Errorf("after the replay of a letter that is still wrong: %d letters, %v", len(letters), err)
	}
	svc.verify()
}

// published is a message on which nothing but its subject is asked.
type published struct{ jetstream.Msg }

func (published) Subject() string { return bus.SubjectPublish }

// TestAge: a service whose oldest item has been in work for long is not ready.
func TestAge(t *testing.T) {
	r := start(t, t.TempDir(), nil)
	r.submit(bus.SubjectPublish, &Item{ID: "a", Body: "一篇文章"})
	r.eventually("ready", func() bool { return r.service.Ready() == nil && r.service.age() == 0 })
	r.service.oldest.Store(time.Now().Add(-time.Minute).UnixNano())
	if err := r.service.Ready(); err == nil || !strings.Contains(err.Error(), "oldest item") {
		t.Errorf("ready: %v", err)
	}
	// One that the bus takes back, since its stream is gone, is in work no more.
	taken, cancel := context.WithCancel(t.Context())
	order := make(chan *job, 1)
	order <- &job{msg: published{}, taken: time.Now(), ready: make(chan struct{})}
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := r.service.applyBatches(taken, order); err != nil || r.service.age() != 0 {
		t.Errorf("age %v after the end of a stream, %v", r.service.age(), err)
	}
}
