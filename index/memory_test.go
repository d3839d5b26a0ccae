//go:build !race

// The race detector keeps several bytes for each one that is used: what the
// system then says is no measure.

package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"testing"

	"jianguo/simhash"
	"jianguo/sketch"
)

// resident is what the system holds in memory for this process, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var all, pages int64
	if _, err := fmt.Sscan(string(raw), &all, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// TestMemoryFormula holds the formula of the package comment against what the
// system says, and the parts against their sum.
func TestMemoryFormula(t *testing.T) {
	const items = 300_000
	ctx := context.Background()
	x := openTest(t, t.TempDir(), func(c *Config) { c.Durability = DurabilityRelaxed; c.SnapshotEvery = 1 << 40 })
	defer func() { _ = x.Close() }()
	text := ""
	for i := range 240 {
		text += string(rune(0x4e00 + i*37%3000))
	}
	s := sketch.Make(sketch.Input{Body: text})
	keys := len(postingKeys(&s))
	debug.FreeOSMemory()
	before := resident(t)
	r := rand.New(rand.NewPCG(1, 2))
	for seq := uint64(0); seq < items; {
		var batch []Mutation
		for range 2000 {
			seq++
			a := &Article{ID: fmt.Sprint("id", seq), Sketch: s}
			for i := range a.Exact {
				a.Exact[i] = byte(r.Uint32())
			}
			a.Print.Fingerprint = simhash.Fingerprint(r.Uint64())
			batch = append(batch, Mutation{Seq: seq, At: testStart, Article: a})
		}
		if err := x.Probe().Insert(ctx, batch); err != nil {
			t.Fatal(err)
		}
	}
	debug.FreeOSMemory()
	took := resident(t) - before
	_, parts := x.Probe().Bytes()
	var sum int64
	for _, n := range parts {
		sum += n
	}
	// What is bounded: the cache of relatives, and SQLite's of the writer.
	cache := int64(relativesCached)*1500 + 64<<20
	formula := MemoryBytes(items, keys)
	t.Logf("%d keys an item: the system %d MB, parts %d MB, formula %d MB", keys, took>>20, sum>>20, formula>>20)
	if sum > formula || sum < formula/2 {
		t.Errorf("the parts take %d bytes, the formula says %d", sum, formula)
	}
	if most := formula + cache + 32<<20; took > most || took < sum/2 {
		t.Errorf("%d bytes more are resident, the formula says %d, and %d with what is bounded", took, formula, most)
	}
}
