package exposure

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// BenchmarkFilter is a whole request but for HTTP: 5,000 seen, 5,000 candidates, half
// of them seen.
func BenchmarkFilter(b *testing.B) {
	f, body := benchRequest(b)
	for _, format := range []Format{JSON, Bitmap} {
		b.Run([]string{"json", "bitmap"}[format], func(b *testing.B) {
			var out []byte
			best := time.Hour
			b.ReportAllocs()
			for range b.N {
				start := time.Now()
				var err error
				if out, _, err = f.FilterJSON(context.Background(), out[:0], body, format); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Microseconds()), "best-µs")
		})
	}
}

func benchRequest(b *testing.B) (*fixture, []byte) {
	f := newFixture(b, Config{})
	f.report(Seen, "u", ids(0, 5000)...)
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

// BenchmarkSteps is where the time of BenchmarkFilter goes: each step by itself, on what
// the one before it left.
func BenchmarkSteps(b *testing.B) {
	f, body := benchRequest(b)
	m := new(message)
	var out []byte
	for range viewHits { // the view is kept from then on
		if _, _, err := f.FilterJSON(context.Background(), nil, body, JSON); err != nil {
			b.Fatal(err)
		}
	}
	addr := []byte(address("", "u"))
	e, _ := f.segmentOf(addr).acquire(addr, f.policies[""])
	defer f.segmentOf(addr).release(e, -1, true)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"find", func() {
			if err := m.decode(body); err != nil {
				b.Fatal(err)
			}
		}},
		{"hash", func() { m.hash(seedOf(&f.secret, "u")) }},
		{"kernel", func() {
			m.marks = slices.Grow(m.marks[:0], len(m.spans))[:len(m.spans)]
			e.st.view.mark(m.keys, m.marks)
		}},
		{"choose", func() { m.choose(new(Outcome)) }},
		{"answer", func() { out = m.appendJSON(out[:0], Outcome{}) }},
		{"bitmap", func() { out = m.appendBitmaps(out[:0]) }},
	} {
		b.Run(step.name, func(b *testing.B) {
			best := time.Hour
			for range b.N {
				start := time.Now()
				step.do()
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Nanoseconds())/1000, "best-µs")
		})
	}
}

// BenchmarkCold is a request for a user who is not in memory, of each kind in the mix:
// 5,000 candidates, every other one among the first that such a user can have seen, as
// in the benchmark over HTTP.
func BenchmarkCold(b *testing.B) {
	mix, _ := ParseMix("60x50,30x500,10x20000")
	pol := Policy{Slots: 3, Large: 10000}
	path := b.TempDir() + "/mix.db"
	const users = 6000
	if err := BuildMix(context.Background(), path, pol, users, mix, 4, nil); err != nil {
		b.Fatal(err)
	}
	f := newFixture(b, Config{Path: path, CacheBytes: 1, Policies: map[string]Policy{"": pol}})
	f.clock.advance(time.Since(f.clock.now()))
	kinds := map[int][]int{}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(users) { // in no order the file could like
		n := MixKeys(i, mix)
		kinds[n] = append(kinds[n], i)
	}
	for _, n := range []int{50, 500, 20000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var took []time.Duration
			var out, body []byte
			b.ReportAllocs()
			for i := range b.N {
				body = coldBody(body[:0], MixUser(kinds[n][i%len(kinds[n])]))
				start := time.Now()
				var err error
				if out, _, err = f.FilterJSON(context.Background(), out[:0], body, Bitmap); err != nil {
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

// TestChoose holds what is answered against a plain account of it: the unseen in order,
// each once, up to a limit, then as many again of those only shards hold as are wanted.
func TestChoose(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var m message
		n, different := rng.IntN(3000), 1+rng.IntN(6000)
		for range n {
			id := fmt.Sprint(rng.IntN(different))
			from := len(m.scratch)
			m.scratch = append(m.scratch, id...)
			m.addOdd(0, 0, from)
			m.marks = append(m.marks, []byte{unseen, unseen, unseen, inExact, inShards}[rng.IntN(5)])
		}
		m.hash(rng.Uint64())
		if rng.IntN(4) == 0 { // keys that ids share
			for i := range m.keys {
				m.keys[i] &= 0xff
			}
		}
		m.max = []int{0, 0, 10, 500, 5000}[rng.IntN(5)]
		m.atLeast = []int{0, 0, 5, 400}[rng.IntN(4)]
		if m.atLeast > 0 {
			for i, mark := range m.marks {
				if mark == inShards {
					m.order = append(m.order, uint32(rng.IntN(5))<<16|uint32(i))
				}
			}
			slices.Sort(m.order)
		}
		want, answered, relaxing := slices.Clone(m.marks), []uint32{}, 0
		given := map[string]bool{}
		for i, mark := range m.marks {
			switch id := string(m.id(i)); {
			case mark != unseen:
			case given[id]:
				want[i] = repeat
			case m.max > 0 && len(answered) == m.max:
				want[i], given[id] = cut, true
			default:
				answered, given[id] = append(answered, uint32(i)), true
			}
		}
		for _, r := range m.order {
			id := string(m.id(int(r & 0xffff)))
			if len(answered)+relaxing < m.atLeast && !given[id] {
				want[r&0xffff], given[id] = relaxed, true
				relaxing++
			}
		}
		dropped := 0
		for _, mark := range want {
			if mark == inExact || mark == inShards || mark == repeat {
				dropped++
			}
		}
		var o Outcome
		m.choose(&o)
		if !slices.Equal(m.marks, want) || !slices.Equal(m.answer, answered) || o != (Outcome{Items: len(answered), Relaxed: relaxing, Dropped: dropped}) {
			t.Fatalf("seed %d: %d ids: %+v, want %d answered, %d relaxed, %d dropped", seed, n, o, len(answered), relaxing, dropped)
		}
	}
}

// TestSharedKey: two new ids that happen to have one key for a user are both answered;
// a repeated id is answered once.
func TestSharedKey(t *testing.T) {
	f := newFixture(t, Config{Rand: zeros{}})
	seed := seedOf(&f.secret, "u")
	by := map[uint32]string{}
	for i := 0; ; i++ {
		id := fmt.Sprint(i)
		key := keyOf([]byte(id), seed)
		if other, ok := by[key]; ok {
			if got := f.unseenOf("u", id, other, id, "x", other); !slices.Equal(got, []string{id, other, "x"}) {
				t.Fatalf("ids %s and %s: %v", id, other, got)
			}
			f.report(Seen, "u", id)
			if got := f.unseenOf("u", id, other, "x"); !slices.Equal(got, []string{"x"}) {
				t.Fatalf("seen by key: %v", got)
			}
			return
		}
		by[key] = id
	}
}
