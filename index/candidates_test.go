package index

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"jianguo/index/resident"
	"jianguo/sketch"
)

// BenchmarkCandidates tells the strangers among as many proposals as are judged
// at most, anywhere among ten million versions.
func BenchmarkCandidates(b *testing.B) {
	const items = 10_000_000
	x := &Index{policy: DefaultPolicy()}
	r := rand.New(rand.NewPCG(7, 8))
	at := seconds(testStart)
	for ordinal := uint32(1); ordinal <= items; ordinal++ {
		o := sketch.Outline{Shingles: 500}
		for i := 0; i < len(o.Minima); i += 8 {
			binary.LittleEndian.PutUint64(o.Minima[i:], r.Uint64())
		}
		x.rows.Set(ordinal, resident.Arrival(Unique, false), ordinal, at)
		x.rows.SetOutline(ordinal, &o)
	}
	a := textArticle("a", "今天北京发布了一个关于公园的公告，明天起所有公园免费开放，请市民提前预约。")
	proposals := make([]proposal, x.policy.Judged)
	for b.Loop() {
		for i := range proposals {
			proposals[i].ordinal = 1 + r.Uint32N(items)
		}
		m := new(memo)
		if candidates := x.candidates(a, proposals, at, nil, m); len(m.strangers)+len(candidates) != len(proposals) {
			b.Fatalf("%d strangers and %d candidates of %d proposals", len(m.strangers), len(candidates), len(proposals))
		}
	}
}
