package state

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"jianguo/exposure/kernel"
	"jianguo/internal/testbed"
)

var shanghai = time.FixedZone("Asia/Shanghai", 8*3600)

var benchTime = time.Date(2024, 5, 20, 12, 0, 0, 0, shanghai)

// TestMonthEnds: what was seen in a month of the store's zone is held until the last second
// of the third month after it, and no longer in the next, in the tail as in a shard.
func TestMonthEnds(t *testing.T) {
	zones := []*time.Location{shanghai, time.UTC, time.FixedZone("", -8*3600), time.FixedZone("", 5*3600+1800)}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		p, err := Policy{Kind: Calendar, Capacity: 64, Tail: 16}.WithDefaults()
		testbed.OK(t, err)
		year, month := rapid.IntRange(2020, 2030).Draw(t, "year"), rapid.IntRange(1, 12).Draw(t, "month")
		begin := time.Date(year, time.Month(month), 1, 0, 0, 0, 0, zone)
		end := time.Date(year, time.Month(month)+1, 1, 0, 0, 0, 0, zone)
		at := begin.Add(rapid.SampledFrom([]time.Duration{0, time.Second, 15 * 24 * time.Hour, end.Sub(begin) - time.Second}).Draw(t, "at"))
		s := &State{}
		testbed.OK(t, s.see(&p, []uint32{7}, at, at, nil))
		for i := range rapid.SampledFrom([]uint32{0, 100}).Draw(t, "more") {
			testbed.OK(t, s.see(&p, []uint32{100 + i}, at, at, nil))
		}
		last := time.Date(year, time.Month(month)+4, 1, 0, 0, 0, 0, zone)
		for now, want := range map[time.Time]byte{at: 1, end: 1, last.Add(-time.Second): 1, last: 0, last.AddDate(1, 0, 0): 0} {
			var mark [1]byte
			s.View(&p, now, 9).Mark([]uint32{7}, mark[:])
			if (mark[0] != kernel.Unseen) != (want == 1) {
				t.Fatalf("seen %s, filtered %s: %d", at, now, mark[0])
			}
		}
		// A view built before the boundary is not used after it.
		if v := s.View(&p, last.Add(-time.Second), 9); v.Until > last.Unix() {
			t.Fatalf("view until %s", time.Unix(v.Until, 0).In(zone))
		}
	})
}

// TestMonthEndsWhileCached: what was seen in a month expires with it, in a state that stays in
// memory because of later exposures.
func TestMonthEndsWhileCached(t *testing.T) {
	p, err := Policy{Kind: Calendar, Capacity: 64, Tail: 16, Months: 1}.WithDefaults()
	testbed.OK(t, err)
	march := time.Date(2026, 3, 10, 12, 0, 0, 0, shanghai)
	s := &State{}
	for i := range uint32(40) { // more than a tail
		at := march.AddDate(0, int(i)/20, 0)
		testbed.OK(t, s.see(&p, []uint32{i + 1}, at, at, nil))
	}
	for _, c := range []struct {
		month        time.Month
		first, later bool
	}{{time.April, true, true}, {time.May, false, true}, {time.June, false, false}} {
		var marks [2]byte
		s.View(&p, time.Date(2026, c.month, 12, 0, 0, 0, 0, shanghai), 9).Mark([]uint32{1, 21}, marks[:])
		if marks[0] != kernel.Unseen != c.first || marks[1] != kernel.Unseen != c.later {
			t.Errorf("in %s: marks %v, want seen %v and %v", c.month, marks, c.first, c.later)
		}
	}
}
