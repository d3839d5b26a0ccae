package indexbench

import (
	"context"
	"jianguo/internal/tier"
	"testing"
)

// TestResume: a run with Resume inserts only the items that an earlier run did not, and
// measures all of them. A run without Resume refuses a directory that is not empty.
func TestResume(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	n := uint64(2000)
	if tier.Race {
		n = 500
	}
	o := Options{N: n, Dir: dir, Queries: 60, Judged: 100, NoBaselines: true, Seed: 1}
	if _, err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	o.N = n * 5 / 4
	if _, err := Run(ctx, o); err == nil {
		t.Fatal("a second run took the first one's items for its own")
	}
	o.Resume = true
	for _, have := range []uint64{n, o.N} {
		res, err := Run(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if res.Resumed != have || (res.InsertsPerSecond > 0) != (have < o.N) || (res.JudgedN == 100) != (have < o.N) {
			t.Errorf("of %d items %d were there, %d judged, %.0f inserted a second", o.N, res.Resumed, res.JudgedN, res.InsertsPerSecond)
		}
		if res.VerdictP50 == 0 || res.MarginFound < 0.5 || res.ScanP50 != 0 || res.RowsN != 0 {
			t.Errorf("not measured, or the baselines were: %+v", res)
		}
	}
}
