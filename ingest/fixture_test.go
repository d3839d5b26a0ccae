package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/data"
	"jianguo/index"
	"jianguo/internal/must"
	"jianguo/internal/testbed"
	"jianguo/segment"
)

// segmenter is shared: it never changes.
var segmenter *segment.Segmenter

func TestMain(m *testing.M) {
	var err error
	if segmenter, err = segment.New(segment.Config{Data: data.FS}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// patience is how long anything is waited for, on however slow a machine.
const patience = 2 * time.Minute

// testService is a real bus, a real index and the service between them.
type testService struct {
	t     testing.TB
	dir   string
	bus   *bus.Embedded
	conn  *nats.Conn
	js    jetstream.JetStream
	index *index.Index
	stop  func() error

	service *Service
}

// start opens a testService in dir and runs it, with relaxed durability.
func start(t testing.TB, dir string, change func(*Config, *index.Config)) *testService {
	t.Helper()
	return startOn(t, bus.Config{Dir: dir, Relaxed: true}, change)
}

// startOn is start on a bus of its own kind.
func startOn(t testing.TB, bc bus.Config, change func(*Config, *index.Config)) *testService {
	t.Helper()
	dir := bc.Dir
	r := &testService{t: t, dir: dir}
	bc.Dir += "/bus"
	ctx, cancel := context.WithCancel(context.Background())
	if err := must.Catch(func() {
		r.bus = must.Get(bus.Start(bc))
		r.conn = must.Get(r.bus.Connect())
		r.js = bus.JetStream(r.conn)
		cfg := Config{Bus: r.bus, Conn: r.conn, Segmenter: segmenter}
		icfg := IndexConfig(segmenter, index.Config{Dir: dir, Relaxed: true, Language: index.English})
		if change != nil {
			change(&cfg, &icfg)
		}
		r.index = must.Get(index.Open(context.Background(), icfg))
		cfg.Index = r.index
		r.service = must.Get(New(context.Background(), cfg))
	}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.service.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { r.close() })
	return r
}

// close stops everything, and may be called again.
func (r *testService) close() {
	_ = r.stop()
	_ = r.index.Close()
	r.conn.Close()
	r.bus.Close()
}

func (r *testService) submit(subject string, payload any) *Outcome {
	r.t.Helper()
	o, err := r.trySubmit(subject, payload)
	testbed.OK(r.t, err)
	return o
}

func (r *testService) trySubmit(subject string, payload any) (*Outcome, error) {
	b, ok := payload.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(payload); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return submit(ctx, r.js, subject, b)
}

// eventually waits until something holds.
func (r *testService) eventually(what string, holds func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("still not: %s", what)
		}
	}
}

// verify is how every test that writes ends: the directory is whole, and
// VERDICTS holds exactly the catalogue's events.
func (r *testService) verify() {
	r.t.Helper()
	ctx := context.Background()
	report, err := r.index.Verify(ctx)
	testbed.OK(r.t, err)
	for _, p := range report.Problems {
		r.t.Error("verify:", p)
	}
	events, err := r.index.Events(ctx, 0, 1<<30)
	testbed.OK(r.t, err)
	stream, err := r.js.Stream(ctx, bus.StreamVerdicts)
	testbed.OK(r.t, err)
	r.eventually(fmt.Sprintf("%s ends at %d", bus.StreamVerdicts, len(events)), func() bool {
		info, err := stream.Info(ctx)
		testbed.OK(r.t, err)
		return int(info.State.LastSeq) == len(events)
	})
	for _, e := range events {
		m, err := stream.GetMsg(ctx, e.Number)
		if err != nil {
			r.t.Fatalf("event %d: %v", e.Number, err)
		}
		want, err := json.Marshal(e)
		testbed.OK(r.t, err)
		if string(m.Data) != string(want) {
			r.t.Fatalf("event %d was published as\n%s\nthe catalogue says\n%s", e.Number, m.Data, want)
		}
	}
}

var words = strings.Fields(`水库 开闸 泄洪 村民 转移 中学 堤坝 巡查 险情 抢险队 图书馆 新馆 开放 读者 少儿区 借阅 窗口 长队 志愿者 法院 判决 合同
	赔偿 上诉 公司 股东 大会 决议 增持 股份 台风 登陆 风力 暴雨 预警 学校 停课 地铁 新线 试运行 车站 换乘 客流 博物馆 展览 青铜器 观众 球队 比赛 进球 教练 主场`)

func sentence(r *rand.Rand, n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = words[r.IntN(len(words))]
	}
	return s
}

// edited changes a share of the words.
func edited(r *rand.Rand, s []string, share float64) []string {
	s = slices.Clone(s)
	for i := range s {
		if r.Float64() < share {
			s[i] = words[r.IntN(len(words))]
		}
	}
	return s
}

// relatives makes items that meet each other: chains A~B~C in which A and C
// need not meet, stars, families, exact copies, revisions and withdrawals.
func relatives(r *rand.Rand, n int) []any {
	var items []any
	for len(items) < n {
		base := sentence(r, 40+r.IntN(120))
		share := []float64{0, 0.02, 0.05, 0.1}[r.IntN(4)]
		chain := r.IntN(2) == 0
		for range 1 + r.IntN(8) {
			id := fmt.Sprint("i", r.IntN(n))
			if r.IntN(12) == 0 {
				items = append(items, Withdrawal{ID: id, Mode: []string{ModeBlock, ModePromote}[r.IntN(2)]})
				continue
			}
			text := edited(r, base, share)
			if chain {
				base = text
			}
			items = append(items, Item{ID: id, Title: strings.Join(sentence(r, 4), ""), Body: strings.Join(text, "") + "。", Revision: int64(r.IntN(3))})
		}
	}
	return items
}

func subjectOf(item any) string {
	if _, ok := item.(Withdrawal); ok {
		return bus.SubjectWithdraw
	}
	return bus.SubjectPublish
}

// submit publishes one message and waits for its outcome.
func submit(ctx context.Context, js jetstream.JetStream, subject string, payload []byte) (*Outcome, error) {
	p, err := NewPublisher(js)
	if err != nil {
		return nil, err
	}
	return p.Submit(ctx, subject, payload)
}
