package match

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"jianguo/compare"
	"jianguo/index/indextest"
	"jianguo/index/resident"
	"jianguo/index/verdict"
)

// BenchmarkCandidates finds the unrelated ones among the largest number of proposals,
// spread over ten million versions.
func BenchmarkCandidates(b *testing.B) {
	const items = 10_000_000
	tables := resident.NewTables()
	x := New(verdict.DefaultPolicy(), Config{Tables: tables, Clusters: new(resident.Clusters)})
	r := rand.New(rand.NewPCG(7, 8))
	at := uint32(indextest.Start.Unix())
	for ordinal := uint32(1); ordinal <= items; ordinal++ {
		o := compare.Outline{Shingles: 500}
		for i := 0; i < len(o.Minima); i += 8 {
			binary.LittleEndian.PutUint64(o.Minima[i:], r.Uint64())
		}
		x.Rows.Set(ordinal, resident.Arrival(verdict.Unique, false), ordinal, at)
		x.Rows.SetOutline(ordinal, &o)
	}
	a := indextest.ArticleOf("a", "今天北京发布了一个关于公园的公告，明天起所有公园免费开放，请市民提前预约。")
	proposals := make([]Proposal, x.policy.Judged)
	for b.Loop() {
		for i := range proposals {
			proposals[i].Ordinal = 1 + r.Uint32N(items)
		}
		c := comparing{Matcher: x, query: &Query{Article: a, At: at}, known: map[uint32]*comparison{}}
		if candidates := c.candidates(proposals); c.onSketches+len(candidates) != len(proposals) {
			b.Fatalf("%d unrelated and %d candidates of %d proposals", c.onSketches, len(candidates), len(proposals))
		}
	}
}
