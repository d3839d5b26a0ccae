package exposure

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"jianguo/exposure/state"
	"jianguo/exposure/story"
	"jianguo/exposure/wire"
)

// BenchmarkFilter is a whole request but for HTTP: 5,000 seen, 5,000 candidates, half
// of them seen.
func BenchmarkFilter(b *testing.B) {
	f, body := benchRequest(b)
	f.report(state.Seen, "phone", ids(5000, 10000)...)
	for i, format := range []Format{JSON, Bitmap, JSON, JSON} {
		b.Run([]string{"json", "bitmap", "linked", "story"}[i], func(b *testing.B) {
			if i == 2 {
				f.must(f.Expose(context.Background(), Event{Kind: state.Link, User: "u", From: "phone"}))
			}
			if i == 3 {
				f.must(f.Expose(context.Background(), Event{Kind: state.Unlink, User: "u", From: "phone"}))
				body = bytes.Replace(body, []byte(`{"items"`), []byte(`{"scope":"story","items"`), 1)
			}
			var out []byte
			best := time.Hour
			b.ReportAllocs()
			for range b.N {
				start := time.Now()
				var err error
				if out, _, err = f.FilterBytes(context.Background(), out[:0], body, format); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Microseconds()), "best-µs")
		})
	}
}

func benchRequest(b *testing.B) (*fixture, []byte) {
	f := newFixture(b, Config{Stories: story.New()})
	f.cfg.Stories.SetReady()
	for i := range 125_000 { // a fifth of the candidates are in stories, a fiftieth of all that are
		if i%5 == 0 {
			tell(f.cfg.Stories, uint32(2*i), fmt.Sprintf("news-%09d", i), fmt.Sprintf("copy-%09d", 2*i))
			tell(f.cfg.Stories, uint32(2*i+1), fmt.Sprintf("item-%09d", i), fmt.Sprintf("copy-%09d", 2*i+1))
		}
	}
	f.report(state.Seen, "u", ids(0, 5000)...)
	var cands []string
	for i := range 5000 {
		if uint32(i)*2654435761 < 1<<31 {
			cands = append(cands, fmt.Sprintf("item-%09d", i))
		} else {
			cands = append(cands, fmt.Sprintf("news-%09d", i))
		}
	}
	body, _ := json.Marshal(map[string]any{"user": "u", "items": cands})
	return f, body
}

// BenchmarkCold is a request for a user who is not in memory, of three kinds:
// 5,000 candidates, every other one among the first that such a user can have seen, as in
// the benchmark over HTTP.
func BenchmarkCold(b *testing.B) {
	f := newFixture(b, Config{CacheBytes: 1, Policies: map[string]state.Policy{"": {Slots: 3, Large: 10000}}})
	const users = 400 // of each kind
	for _, n := range []int{50, 500, 20000} {
		for i := range users {
			user := fmt.Sprint("u", n, "-", i)
			var items []string
			for k := range n {
				items = append(items, fmt.Sprintf("%s-%06d", user, k))
			}
			f.report(state.Seen, user, items...)
		}
	}
	if err := f.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{50, 500, 20000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var took []time.Duration
			var out, body []byte
			b.ReportAllocs()
			for i := range b.N {
				body = coldBody(body[:0], fmt.Sprint("u", n, "-", i*7919%users))
				start := time.Now()
				var err error
				if out, _, err = f.FilterBytes(context.Background(), out[:0], body, Bitmap); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
			b.ReportMetric(float64(took[len(took)*9/10].Nanoseconds())/1000, "p90-µs")
		})
	}
}

// coldBody is what the benchmark over HTTP asks of a user.
func coldBody(body []byte, user string) []byte {
	body = append(append(append(body, `{"user":"`...), user...), `","items":[`...)
	for i := range 5000 {
		name := user
		if i%2 != 0 {
			name = "other"
		}
		body = append(append(append(body, '"'), name...), "-00"...)
		body = append(body, byte('0'+i/1000), byte('0'+i/100%10), byte('0'+i/10%10), byte('0'+i%10), '"', ',')
	}
	return append(body[:len(body)-1], "]}"...)
}

// TestSecret: each store hashes ids with a secret of its own, and keeps it.
func TestSecret(t *testing.T) {
	f, other := newFixture(t, Config{Rand: rand.Reader}), newFixture(t, Config{Rand: rand.Reader})
	before := wire.Key([]byte("a"), wire.Seed(&f.secret, "u"))
	if f.restart(); before != wire.Key([]byte("a"), wire.Seed(&f.secret, "u")) {
		t.Error("another secret after a restart")
	}
	if f.secret == other.secret || before == wire.Key([]byte("a"), wire.Seed(&other.secret, "u")) {
		t.Error("two stores hash with one secret")
	}
}

// TestSharedKey: two new ids that happen to have one key for a user are both answered;
// a repeated id is answered once.
func TestSharedKey(t *testing.T) {
	f := newFixture(t, Config{Rand: zeros{}})
	seed := wire.Seed(&f.secret, "u")
	by := map[uint32]string{}
	for i := 0; ; i++ {
		id := fmt.Sprint(i)
		key := wire.Key([]byte(id), seed)
		if other, ok := by[key]; ok {
			if got := f.unseenOf("u", id, other, id, "x", other); !slices.Equal(got, []string{id, other, "x"}) {
				t.Fatalf("ids %s and %s: %v", id, other, got)
			}
			f.report(state.Seen, "u", id)
			if got := f.unseenOf("u", id, other, "x"); !slices.Equal(got, []string{"x"}) {
				t.Fatalf("seen by key: %v", got)
			}
			return
		}
		by[key] = id
	}
}
