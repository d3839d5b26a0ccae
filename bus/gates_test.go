package bus

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/testbed"
)

// gated is a bus with a stream that has a gate, and one without.
type gated struct {
	t   *testing.T
	bus *Embedded
	nc  *nats.Conn
	js  jetstream.JetStream
}

func newGated(t *testing.T, dir string, stream jetstream.StreamConfig, fail func(string) error) *gated {
	t.Helper()
	g := startGated(t, &stream, Config{Dir: dir, Fail: fail, Gates: []GatedStream{{Name: "S", Subjects: []string{"s.a", "s.b.*"}}}})
	testbed.OK(t, g.bus.Create(t.Context(), "S", createdAlready))
	return g
}

// startGated is the same with a gate that is not open, or without one.
func startGated(t *testing.T, stream *jetstream.StreamConfig, bc Config) *gated {
	t.Helper()
	bc.Listen = "127.0.0.1:0"
	bus, err := Start(bc)
	testbed.OK(t, err)
	t.Cleanup(bus.Close)
	g := &gated{t: t, bus: bus}
	g.nc, g.js = g.join()
	stream.Name, stream.Subjects, stream.AllowAtomicPublish, stream.Discard = "S", []string{"s.a", "s.b.*"}, true, jetstream.DiscardNew
	if _, err := g.js.CreateOrUpdateStream(t.Context(), *stream); err != nil {
		t.Fatal(err)
	}
	return g
}

// join connects as a client of another process would.
func (g *gated) join() (*nats.Conn, jetstream.JetStream) {
	g.t.Helper()
	nc, err := nats.Connect(g.bus.URL())
	testbed.OK(g.t, err)
	g.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(4096), jetstream.WithPublishAsyncTimeout(30*time.Second))
	testbed.OK(g.t, err)
	return nc, js
}

// stored is all that the stream holds, by sequence.
func (g *gated) stored() map[uint64]*jetstream.RawStreamMsg {
	g.t.Helper()
	stream, err := g.js.Stream(g.t.Context(), "S")
	testbed.OK(g.t, err)
	all, last := map[uint64]*jetstream.RawStreamMsg{}, stream.CachedInfo().State.LastSeq
	for seq := stream.CachedInfo().State.FirstSeq; seq <= last; seq++ {
		m, err := stream.GetMsg(g.t.Context(), seq)
		if err != nil {
			g.t.Fatalf("message %d: %v", seq, err)
		}
		all[seq] = m
	}
	return all
}

// asSent is a message as it was published.
func asSent(subject string, h nats.Header, data []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q", subject, data)
	for _, key := range []string{"Nats-Msg-Id", "Colour", "colour"} {
		fmt.Fprintf(&b, " %s=%q", key, h[key])
	}
	return b.String()
}

// Many publish at once, with headers, ids, the same ids again and without
// wanting an answer. Each message acknowledged stands where its acknowledgement
// says, as it was sent; of one publisher all stand in order; and an id stands
// once.
func TestGateKeeps(t *testing.T) {
	t.Parallel()
	g := newGated(t, t.TempDir(), jetstream.StreamConfig{}, nil)
	const publishers, each = 8, 400
	type sent struct {
		plain string
		ack   *jetstream.PubAck
	}
	all := make([][]sent, publishers)
	var wg sync.WaitGroup
	for p := range publishers {
		nc, js := g.join()
		r := rand.New(rand.NewPCG(uint64(p), 1))
		all[p] = make([]sent, each)
		wg.Go(func() {
			futures := make([]jetstream.PubAckFuture, each)
			for i := range each {
				m := nats.NewMsg("s.a")
				if i%3 == 0 {
					m.Subject = fmt.Sprint("s.b.", p)
				}
				m.Data = []byte(fmt.Sprintf("%d %d %s", p, i, strings.Repeat("x", r.IntN(300))))
				switch r.IntN(5) {
				case 0:
					m.Header.Set("Colour", "red")
					m.Header.Add("Colour", "green, blue")
					m.Header.Set("colour", "")
				case 1:
					m.Header.Set("Nats-Msg-Id", fmt.Sprintf("%d-%d", p, i))
				case 2:
					m.Header.Set("Nats-Msg-Id", fmt.Sprint("shared-", r.IntN(40)))
				case 3:
					all[p][i].plain = asSent(m.Subject, m.Header, m.Data)
					if err := nc.PublishMsg(m); err != nil {
						t.Error(err)
					}
					continue
				}
				all[p][i].plain = asSent(m.Subject, m.Header, m.Data)
				var err error
				if futures[i], err = js.PublishMsgAsync(m); err != nil {
					t.Error(err)
					return
				}
			}
			for i, f := range futures {
				if f == nil {
					continue
				}
				select {
				case all[p][i].ack = <-f.Ok():
				case err := <-f.Err():
					t.Errorf("publisher %d, message %d: %v", p, i, err)
				}
			}
			if err := nc.Flush(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// What wanted no answer is stored before the next that does.
	if _, err := g.js.Publish(t.Context(), "s.a", []byte("last")); err != nil {
		t.Fatal(err)
	}
	stored, duplicates := g.stored(), 0
	at, ids := map[string]uint64{}, map[string]bool{}
	for seq, m := range stored {
		at[asSent(m.Subject, m.Header, m.Data)] = seq
		if id := m.Header.Get("Nats-Msg-Id"); id != "" {
			if ids[id] {
				t.Errorf("%q stands twice", id)
			}
			ids[id] = true
		}
	}
	for p, sent := range all {
		var before uint64
		for i, s := range sent {
			seq := at[s.plain]
			switch {
			case s.ack != nil && s.ack.Duplicate:
				duplicates++
				if m := stored[s.ack.Sequence]; m == nil || m.Header.Get("Nats-Msg-Id") == "" {
					t.Errorf("publisher %d, message %d: duplicate of %d, which is %v", p, i, s.ack.Sequence, m)
				}
				continue
			case seq == 0:
				t.Errorf("publisher %d, message %d is lost: %s", p, i, s.plain)
			case s.ack != nil && (s.ack.Sequence != seq || s.ack.Stream != "S"):
				t.Errorf("publisher %d, message %d stands at %d: %+v", p, i, seq, s.ack)
			case seq < before:
				t.Errorf("publisher %d, message %d stands at %d, the one before at %d", p, i, seq, before)
			}
			before = seq
		}
	}
	if duplicates == 0 {
		t.Error("no duplicates: nothing was tried")
	}
	t.Logf("%d messages, %d duplicates", len(stored), duplicates)
}

// A gate and the stream itself answer alike, whatever is asked: the same script
// on either gives the same answers, byte for byte.
func TestGateAnswersAsTheStream(t *testing.T) {
	script := []struct {
		subject string
		header  nats.Header
		data    string
	}{
		{"s.a", nil, "one"},
		{"s.a", nil, ""},
		{"s.b.x", nats.Header{"Nats-Msg-Id": {"m"}}, "three"},
		{"s.b.x", nats.Header{"Nats-Msg-Id": {"m"}}, "three again"},
		{"s.a", nats.Header{"Nats-Expected-Last-Sequence": {"3"}}, "four"},
		{"s.a", nats.Header{"Nats-Expected-Last-Sequence": {"1"}}, "wrong"},
		{"s.a", nats.Header{"Nats-Expected-Stream": {"S"}}, "five"},
		{"s.a", nats.Header{"Nats-Expected-Stream": {"T"}}, "wrong"},
		{"s.a", nats.Header{"Nats-Expected-Last-Msg-Id": {"other"}}, "wrong"},
		{"s.b.x", nats.Header{"Nats-Expected-Last-Subject-Sequence": {"3"}}, "six"},
		{"s.b.x", nats.Header{"Nats-Expected-Last-Subject-Sequence": {"3"}}, "wrong"},
		{"s.a", nats.Header{"Nats-TTL": {"1h"}}, "not allowed"},
		{"s.a", nats.Header{"Nats-Rollup": {"all"}}, "not allowed"},
		{"s.a", nats.Header{"Nats-Batch-Id": {"b"}, "Nats-Batch-Sequence": {"1"}}, "seven"},
		{"s.a", nats.Header{"Nats-Batch-Id": {"b"}, "Nats-Batch-Sequence": {"2"}, "Nats-Batch-Commit": {"1"}}, "eight"},
		{"s.a", nats.Header{"Nats-Batch-Id": {"c"}, "Nats-Batch-Sequence": {"2"}, "Nats-Batch-Commit": {"1"}}, "no beginning"},
		{"s.a", nats.Header{"Nats-Batch-Id": {strings.Repeat("c", 65)}, "Nats-Batch-Sequence": {"1"}}, "too long"},
		{"s.a", nil, strings.Repeat("x", 3000)}, // more than a message may have
		{"s.a", nats.Header{"Colour": {strings.Repeat("x", 70_000)}}, "too much of a header"},
		{"s.a", nats.Header{"Nats-Msg-Id": {"n"}}, strings.Repeat("x", 3000)},
		{"s.a", nats.Header{"Nats-Msg-Id": {""}}, "nine"},
		{"s.nobody", nil, "nobody listens"},
	}
	run := func(g *gated) (answers []string) {
		for _, s := range script {
			m := &nats.Msg{Subject: s.subject, Header: s.header, Data: []byte(s.data)}
			reply, err := g.nc.RequestMsg(m, 10*time.Second)
			if err != nil {
				answers = append(answers, err.Error())
				continue
			}
			answers = append(answers, string(reply.Data))
		}
		return answers
	}
	limits := jetstream.StreamConfig{MaxMsgSize: 2000}
	with := newGated(t, t.TempDir(), limits, nil)
	without := startGated(t, &limits, Config{Dir: t.TempDir()}) // JetStream syncs
	got, want := run(with), run(without)
	for i := range script {
		if got[i] != want[i] {
			t.Errorf("%s %v: %s, and without a gate %s", script[i].subject, script[i].header, got[i], want[i])
		}
	}
	a, b := with.stored(), without.stored()
	if len(a) != len(b) || len(a) == 0 {
		t.Errorf("%d messages, and %d without a gate", len(a), len(b))
	}
}

// Among many, what the stream refuses is answered as the stream answers, and only
// that.
func TestGateRefused(t *testing.T) {
	g := newGated(t, t.TempDir(), jetstream.StreamConfig{MaxMsgSize: 2000}, nil)
	if _, err := g.js.Publish(t.Context(), "s.a", nil, jetstream.WithMsgID("old")); err != nil {
		t.Fatal(err)
	}
	futures := make([]jetstream.PubAckFuture, 1000)
	for i := range futures {
		m := nats.NewMsg("s.a")
		m.Data = []byte(strconv.Itoa(i))
		switch {
		case i%97 == 96:
			m.Data = make([]byte, 3000)
		case i%89 == 88:
			m.Header.Set("Nats-Msg-Id", "old")
		}
		var err error
		if futures[i], err = g.js.PublishMsgAsync(m); err != nil {
			t.Fatal(err)
		}
	}
	stored, before := map[uint64]int{}, uint64(1)
	for i, f := range futures {
		select {
		case ack := <-f.Ok():
			switch {
			case i%97 == 96:
				t.Errorf("message %d was too large: %+v", i, ack)
			case i%89 == 88:
				if !ack.Duplicate || ack.Sequence != 1 {
					t.Errorf("message %d was a duplicate of 1: %+v", i, ack)
				}
			default:
				if ack.Duplicate || ack.Sequence != before+1 {
					t.Errorf("message %d behind %d: %+v", i, before, ack)
				}
				before = ack.Sequence
				stored[ack.Sequence] = i
			}
		case err := <-f.Err():
			var api *jetstream.APIError
			if i%97 != 96 || !errors.As(err, &api) || api.ErrorCode != 10054 {
				t.Errorf("message %d: %v", i, err)
			}
		}
	}
	for seq, m := range g.stored() {
		if i, ok := stored[seq]; seq > 1 && (!ok || string(m.Data) != strconv.Itoa(i)) {
			t.Errorf("message %d is %q", seq, m.Data)
		}
	}
}

// A stream that is full refuses what does not fit, and nothing else.
func TestGateFull(t *testing.T) {
	g := newGated(t, t.TempDir(), jetstream.StreamConfig{MaxBytes: 100_000}, nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	acked, refused := map[uint64]string{}, 0
	for p := range 4 {
		_, js := g.join()
		wg.Go(func() {
			for range 3 {
				var futures []jetstream.PubAckFuture
				for i := range 300 {
					f, err := js.PublishAsync("s.a", []byte(fmt.Sprintf("%d-%d-%s", p, i, strings.Repeat("x", 100))))
					if err != nil {
						t.Error(err)
						return
					}
					futures = append(futures, f)
				}
				for _, f := range futures {
					select {
					case ack := <-f.Ok():
						mu.Lock()
						acked[ack.Sequence] = string(f.Msg().Data)
						mu.Unlock()
					case err := <-f.Err():
						var api *jetstream.APIError
						if !errors.As(err, &api) || api.ErrorCode != 10077 {
							t.Error(err)
						}
						mu.Lock()
						refused++
						mu.Unlock()
					}
				}
			}
		})
	}
	wg.Wait()
	stored := g.stored()
	for seq, data := range acked {
		if m := stored[seq]; m == nil || string(m.Data) != data {
			t.Errorf("acknowledged %d %s, stored %v", seq, data, m)
		}
	}
	if len(stored) != len(acked) || refused == 0 || len(acked) < 100 {
		t.Errorf("%d stored, %d acknowledged, %d refused", len(stored), len(acked), refused)
	}
}
