package wire

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"jianguo/exposure/kernel"
	"jianguo/internal/testbed"
)

// answerTo is an answer to a query that returns all but the dropped ids.
func answerTo(q *Query, dropped func(i int) bool) *Answer {
	a := &Answer{Query: q, Keys: q.Keys(nil, 1), Marks: make([]byte, q.Len())}
	for i := range a.Marks {
		if dropped != nil && dropped(i) {
			a.Marks[i] = kernel.Exact
		}
	}
	return a
}

// TestAnswerPattern writes every pattern of five ids, of which some are odd.
func TestAnswerPattern(t *testing.T) {
	var q Query
	testbed.OK(t, q.Decode([]byte(`{"user":"u","items":["a" , 2,"c","d",5]}`)))
	ids := []string{"a", "2", "c", "d", "5"}
	for mask := range 32 {
		want := []string{}
		for i := range 5 {
			if mask>>i&1 == 0 {
				want = append(want, ids[i])
			}
		}
		a := answerTo(&q, func(i int) bool { return mask>>i&1 != 0 })
		out := a.AppendJSON(nil, a.Choose())
		_, got, ok := slowIDs(out)
		if !ok || !slices.Equal(got, want) && len(want) > 0 {
			t.Errorf("%05b: %s", mask, out)
		}
		if bits := a.AppendBitmap(nil); len(bits) != 1 || int(bits[0]) != 31&^mask {
			t.Errorf("%05b: bitmap %08b", mask, bits)
		}
	}
}

// TestChoose holds Choose to a direct computation: the unseen ids in order, each once, up to
// max, then as many of those that only shards hold as at_least asks for.
func TestChoose(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var q Query
		a := &Answer{Query: &q}
		n, different := rng.IntN(3000), 1+rng.IntN(6000)
		for range n {
			id := fmt.Sprint(rng.IntN(different))
			from := len(q.scratch)
			q.scratch = append(q.scratch, id...)
			q.addOdd(0, 0, from)
			a.Marks = append(a.Marks, []byte{kernel.Unseen, kernel.Unseen, kernel.Unseen, kernel.Exact, kernel.InShard}[rng.IntN(5)])
		}
		a.Keys = q.Keys(nil, rng.Uint64())
		if rng.IntN(4) == 0 { // keys that ids share
			for i := range a.Keys {
				a.Keys[i] &= 0xff
			}
		}
		q.Max = []int{0, 0, 10, 500, 5000}[rng.IntN(5)]
		q.AtLeast = []int{0, 0, 5, 400}[rng.IntN(4)]
		if q.AtLeast > 0 {
			for i, mark := range a.Marks {
				if mark == kernel.InShard {
					a.Order = append(a.Order, uint32(i))
				}
			}
			rng.Shuffle(len(a.Order), func(i, j int) { a.Order[i], a.Order[j] = a.Order[j], a.Order[i] })
		}
		want, answered, relaxing := slices.Clone(a.Marks), []uint32{}, 0
		given := map[string]bool{}
		for i, mark := range a.Marks {
			switch id := string(q.ID(i)); {
			case mark != kernel.Unseen:
			case given[id]:
				want[i] = Repeat
			case q.Max > 0 && len(answered) == q.Max:
				want[i], given[id] = Cut, true
			default:
				answered, given[id] = append(answered, uint32(i)), true
			}
		}
		for _, r := range a.Order {
			id := string(q.ID(int(r)))
			if len(answered)+relaxing < q.AtLeast && !given[id] {
				want[r], given[id] = Relaxed, true
				relaxing++
			}
		}
		dropped := 0
		for _, mark := range want {
			if mark == kernel.Exact || mark == kernel.InShard || mark == Repeat {
				dropped++
			}
		}
		o := a.Choose()
		if !slices.Equal(a.Marks, want) || !slices.Equal(a.chosen, answered) || o != (Outcome{Items: len(answered), Relaxed: relaxing, Dropped: dropped}) {
			t.Fatalf("seed %d: %d ids: %+v, want %d answered, %d relaxed, %d dropped", seed, n, o, len(answered), relaxing, dropped)
		}
	}
}

// BenchmarkSteps is where the time of a request goes outside of the kernel: 5,000 ids of 14
// characters, half of which are returned.
func BenchmarkSteps(b *testing.B) {
	body := benchBody()
	var q Query
	testbed.OK(b, q.Decode(body))
	a := answerTo(&q, nil)
	marks := make([]byte, q.Len())
	for i := range marks {
		marks[i] = byte(rand.IntN(2))
	}
	var out []byte
	var o Outcome
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"find", func() { _ = q.Decode(body) }},
		{"hash", func() { a.Keys = q.Keys(a.Keys, 7) }},
		{"choose", func() { copy(a.Marks, marks); o = a.Choose() }},
		{"answer", func() { out = a.AppendJSON(out[:0], o) }},
		{"bitmap", func() { out = a.AppendBitmap(out[:0]) }},
	} {
		b.Run(step.name, func(b *testing.B) { bestOf(b, step.do) })
	}
}
