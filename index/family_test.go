package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"jianguo/index/indextest"
	"jianguo/index/match"
)

// BenchmarkFamily measures the verdict on a bulletin that has thousands of siblings,
// none of them in memory.
func BenchmarkFamily(b *testing.B) {
	ctx := context.Background()
	x := openTest(b, b.TempDir(), func(c *Config) { *c.Policy, c.Relaxed = DefaultPolicy(), true })
	defer func() { _ = x.Close() }()
	p := &indextest.Press{Rand: rand.New(rand.NewPCG(1, 2))}
	story := p.Words(300)
	bulletin := func(i int) *Article {
		text := append([]rune{}, story...)
		for range 6 {
			copy(text[p.Rand.IntN(280):], []rune(fmt.Sprintf("%07d", p.Rand.IntN(1e7))))
		}
		return indextest.ArticleOf(fmt.Sprint("b", i), string(text))
	}
	const n = 5000
	for from := 0; from < n; from += 500 {
		var batch []Mutation
		for i := from; i < from+500; i++ {
			batch = append(batch, Mutation{Seq: uint64(i + 1), At: testStart, Article: bulletin(i)})
		}
		if err := insert(ctx, x, batch); err != nil {
			b.Fatal(err)
		}
	}
	at := seconds(testStart.Add(time.Minute))
	judged := 0
	for b.Loop() {
		b.StopTimer()
		x.setTables(x.tables) // a new matcher, which has cached nothing
		a := bulletin(n)
		judged += len(x.matcher.Propose(&match.Query{Article: a, At: at}))
		b.StartTimer()
		if _, err := x.Check(ctx, a, at); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(judged)/float64(b.N), "judged/op")
}

// insert is Add without comparing texts: only an equal normal form or fingerprint makes a copy.
func insert(ctx context.Context, x *Index, mutations []Mutation) error {
	exact := x.policy
	exact.Rules, exact.Distance = RulesHamming, 0
	x.levels[""].Matcher = x.matcher.WithPolicy(exact)
	_, err := x.Add(ctx, mutations)
	x.levels[""].Matcher = x.matcher
	return err
}
