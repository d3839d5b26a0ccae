//go:build !race

// The race detector keeps several bytes for each used byte, so the resident size of
// the process means nothing.

package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"jianguo/compare"
	"jianguo/index/resident"
	"jianguo/internal/testbed"
	"jianguo/simhash"
)

// residentMemory returns the resident size of this process, in bytes, and the part of it
// that is pages of mapped files.
func residentMemory(t *testing.T) (bytes, mapped int64) {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	testbed.OK(t, err)
	var all, pages, shared int64
	if _, err := fmt.Sscan(string(raw), &all, &pages, &shared); err != nil {
		t.Fatal(err)
	}
	size := int64(os.Getpagesize())
	return pages * size, shared * size
}

// TestMemoryFormula compares the formula of the package comment with the resident size
// of the process, and the parts with their sum.
func TestMemoryFormula(t *testing.T) {
	items := uint64(testbed.Count(50_000, 300_000, 300_000))
	ctx := context.Background()
	x := openTest(t, t.TempDir(), func(c *Config) { c.Relaxed = true; c.SnapshotEvery = 1 << 40 })
	defer func() { _ = x.Close() }()
	text := ""
	for i := range 240 {
		text += string(rune(0x4e00 + i*37%3000))
	}
	s := compare.NewSketch(&compare.Text{Body: text})
	keys := len(resident.NewPosting(0, &s).Keys)
	debug.FreeOSMemory()
	before, _ := residentMemory(t)
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
		testbed.OK(t, insert(ctx, x, batch))
	}
	debug.FreeOSMemory()
	now, _ := residentMemory(t)
	took := now - before
	sum := tablesBytes(x)
	// Bounded caches: that of exemplars, and that of the writer's SQLite connection.
	cache := int64(32<<10)*1500 + 64<<20
	formula := memoryBytes(int64(items), keys)
	t.Logf("%d keys an item: the system %d MB, parts %d MB, formula %d MB", keys, took>>20, sum>>20, formula>>20)
	if sum > formula || sum < formula/2 {
		t.Errorf("the parts take %d bytes, the formula says %d", sum, formula)
	}
	if most := formula + cache + 32<<20; took > most || took < sum/2 {
		t.Errorf("%d bytes more are resident, the formula says %d, and %d with what is bounded", took, formula, most)
	}
}

// TestMemoryForLong applies a stream much longer than the window, with copies, revisions,
// withdrawals, sweeps and snapshots. The resident data stays within the formula for the
// exemplars of the window and all versions so far. The resident size of the process does
// not grow beyond that. JIANGUO_ITEMS overrides the number of items.
func TestMemoryForLong(t *testing.T) {
	hourly := testbed.Count(1200, 2000, 2000)
	items := testbed.CountOr("JIANGUO_ITEMS", 18_000, 60_000, 1_400_000)
	ctx := context.Background()
	x := openTest(t, t.TempDir(), func(c *Config) {
		c.Relaxed, c.SweepEvery = true, -1
		c.Policy.Window, c.Policy.Cap = 6*time.Hour, 40*time.Hour
	})
	defer func() { _ = x.Close() }()
	r := rand.New(rand.NewPCG(3, 4))
	fresh := func(id string) *Article {
		text := make([]rune, 30)
		for i := range text {
			text[i] = rune(0x4e00 + r.IntN(3000))
		}
		a := article(id, string(text), r.Uint64())
		a.Sketch = compare.NewSketch(&compare.Text{Body: string(text)})
		return a
	}
	debug.FreeOSMemory()
	before, mapped := residentMemory(t)
	before -= mapped
	var settled int64
	var last *Article
	seq := 0
	for hour := 0; seq < items; hour++ {
		var batch []Mutation
		for range hourly {
			seq++
			m := Mutation{Seq: uint64(seq), At: testStart.Add(time.Duration(hour) * time.Hour)}
			switch n := r.IntN(20); {
			case n == 0 && seq > hourly: // a revision, or a promotion, of one of the last
				m.Article = fresh(fmt.Sprint("id", seq-r.IntN(hourly)))
			case n == 1 && seq > hourly:
				m.Withdraw = &Withdrawal{ID: fmt.Sprint("id", seq-1-r.IntN(hourly)), Promote: true}
			case n < 8 && last != nil: // a copy
				copied := *last
				copied.ID = fmt.Sprint("id", seq)
				m.Article = &copied
			default:
				last = fresh(fmt.Sprint("id", seq))
				m.Article = last
			}
			batch = append(batch, m)
		}
		put(t, x, batch...)
		if hour%5 == 4 {
			if _, err := x.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if done := seq * 10 / items; done == (seq-hourly)*10/items {
			continue
		} else if done%3 == 0 {
			testbed.OK(t, x.Snapshot(ctx))
		}
		debug.FreeOSMemory()
		now, mapped := residentMemory(t)
		took := now - mapped - before
		sum := tablesBytes(x)
		live, versions := int64(x.tables.Bands.Len()), int64(x.nextOrdinal)-1
		stored := x.tables.Bands.Stored()
		keys := int64(stored[len(stored)-1].Len())
		var led int64
		if err := x.reader.QueryRowContext(ctx, `SELECT count(*) FROM clusters WHERE lead IS NOT id OR merged_into IS NOT NULL`).Scan(&led); err != nil {
			t.Fatal(err)
		}
		formula := memoryBytes(live, int(keys/max(live, 1))+1) + (versions-live)*(20+64) + led*100
		t.Logf("%d versions, %d exemplars, %d keys: the system %d MB and %d MB mapped, parts %d MB, formula %d MB", versions, live, keys, took>>20, mapped>>20, sum>>20, formula>>20)
		if sum > formula {
			t.Errorf("the parts take %d bytes, the formula says %d", sum, formula)
		}
		if seq >= items/2 && settled == 0 {
			settled = took - formula
		}
		if settled != 0 && took-formula > settled+64<<20 {
			t.Errorf("%d bytes are resident beyond the formula, %d at half of the way", took-formula, settled)
		}
	}
	mustVerify(t, x)
}

// tablesBytes is what the resident data of an index takes.
func tablesBytes(x *Index) int64 {
	t := x.tables
	return t.Bands.Bytes() + t.IDs.Bytes() + t.Exacts.Bytes() + t.Rows.Bytes()
}

// memoryBytes is the bound, in bytes, of the resident data of a number of items,
// with the given number of keys for each item. See Memory in the package comment.
func memoryBytes(items int64, keysAnItem int) int64 {
	const pages, row = 7 * 1024, 16 + 52 // of 3 KiB; bytes a version
	narrow := int64(keysAnItem) + 2
	return items*(4*10+narrow*8)*5/4 + items*row + pages*3<<10 + 5<<20
}
