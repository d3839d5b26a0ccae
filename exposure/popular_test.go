package exposure

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"jianguo/exposure/wire"
	"jianguo/internal/testbed"
)

func countPopular(t *testing.T, p *popularCounts, at time.Time, items ...string) {
	t.Helper()
	q := new(wire.Query)
	body := fmt.Sprintf(`{"user":"u","items":%s]}`, "["+quotedIDs(items))
	testbed.OK(t, q.Decode([]byte(body)))
	p.Add(q, at, at)
}

func quotedIDs(items []string) (out string) {
	for i, item := range items {
		if i > 0 {
			out += ","
		}
		out += `"` + item + `"`
	}
	return out
}

func TestPopular(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.popular")
	p := new(popularCounts)
	testbed.OK(t, p.Load(path))
	now := time.Unix(1_800_000_000, 0)
	countPopular(t, p, now.Add(-2*PopularHalfLife), "old", "old", "old", "both")
	countPopular(t, p, now.Add(-PopularHalfLife), "both", "half")
	countPopular(t, p, now, "new", "both")
	want := []PopularItem{{"both", 1.75}, {"new", 1}, {"old", 0.75}, {"half", 0.5}}
	check := func(p *popularCounts) {
		t.Helper()
		top := p.Top(3, now)
		if len(top) != 3 {
			t.Fatalf("%d of 3", len(top))
		}
		for i, e := range top {
			if e.ID != want[i].ID || math.Abs(e.Weight-want[i].Weight) > 1e-9 {
				t.Errorf("%d: %+v, want %+v", i, e, want[i])
			}
		}
	}
	check(p)
	testbed.OK(t, p.Save(path))
	again := new(popularCounts)
	testbed.OK(t, again.Load(path))
	check(again)
	testbed.OK(t, os.WriteFile(path, []byte(`[{"item":`), 0o640))
	if err := again.Load(path); err == nil || len(again.counts) != 0 {
		t.Errorf("a torn file: %v, %d items", err, len(again.counts))
	}
	testbed.OK(t, os.WriteFile(path, []byte("null"), 0o640))
	testbed.OK(t, again.Load(path))
	countPopular(t, again, now, "new")
}

// What could not be written is written with the next save, also if nothing was counted meanwhile.
func TestPopularNotWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "absent")
	path := filepath.Join(dir, "state.popular")
	p, now := &popularCounts{counts: map[string]float64{}}, time.Unix(1_800_000_000, 0)
	countPopular(t, p, now, "a")
	if err := p.Save(path); err == nil {
		t.Fatal("it was written into a directory that is not there")
	}
	testbed.OK(t, os.Mkdir(dir, 0o700))
	again := new(popularCounts)
	if err := errors.Join(p.Save(path), again.Load(path)); err != nil || len(again.counts) != 1 {
		t.Errorf("%v, %d items", err, len(again.counts))
	}
}

// However many items there are, memory is bounded, and the heavy ones stay.
func TestPopularBounded(t *testing.T) {
	p := &popularCounts{counts: map[string]float64{}}
	now := time.Unix(1_800_000_000, 0)
	for i := range 5 * mostPopular {
		countPopular(t, p, now, fmt.Sprint("once", i))
		if i%1000 == 0 {
			countPopular(t, p, now, "often", fmt.Sprint("often", i%7000))
		}
	}
	if len(p.counts) >= 2*mostPopular {
		t.Errorf("%d items are counted", len(p.counts))
	}
	top := p.Top(8, now)
	if top[0].ID != "often" || math.Abs(top[0].Weight-math.Ceil(5*mostPopular/1000.)) > 1e-6 {
		t.Errorf("%+v", top[0])
	}
	for _, e := range top[1:] {
		if e.Weight < 20 {
			t.Errorf("%+v", e)
		}
	}
}

// What weighs the same is not dropped together: a day of single exposures leaves a full list.
func TestPopularTies(t *testing.T) {
	p := &popularCounts{counts: map[string]float64{}}
	for i := range 2 * mostPopular {
		countPopular(t, p, time.Unix(1_800_000_000, 0), fmt.Sprint("once", i))
	}
	if n := len(p.counts); n < mostPopular || n > mostPopular+1 {
		t.Errorf("%d items are counted, want %d", n, mostPopular)
	}
}

// However long the service runs, what is new counts one and what is old what it should.
func TestPopularForLong(t *testing.T) {
	p := &popularCounts{counts: map[string]float64{}}
	now := time.Unix(1_800_000_000, 0)
	for i := range 3 * 64 {
		countPopular(t, p, now.Add(time.Duration(i)*PopularHalfLife), "always", fmt.Sprint("once", i))
	}
	end := now.Add((3*64 - 1) * PopularHalfLife)
	for i, want := range []PopularItem{{"always", 2}, {fmt.Sprint("once", 3*64-1), 1}, {fmt.Sprint("once", 3*64-2), 0.5}} {
		if got := p.Top(3, end)[i]; got.ID != want.ID || math.Abs(got.Weight-want.Weight) > 1e-9 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestPopularAhead: what was counted while the clock was years ahead counts no longer once it is back.
func TestPopularAhead(t *testing.T) {
	p := &popularCounts{counts: map[string]float64{}}
	now := time.Unix(1_800_000_000, 0)
	countPopular(t, p, now.AddDate(10, 0, 0), "ahead", "ahead")
	countPopular(t, p, now, "a")
	if top := p.Top(2, now); len(top) != 1 || top[0] != (PopularItem{"a", 1}) || len(p.counts) != 1 {
		t.Errorf("%+v, %d counted", top, len(p.counts))
	}
}
