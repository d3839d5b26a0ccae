package browse

import (
	"database/sql"
	"maps"
	"math"
	"slices"
	"time"
)

// HeatHalf is the time after which a copy counts half in the order by recent
// growth.
const HeatHalf = 12 * time.Hour

var heatEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// counted is derived from a cluster's members. Heat is the logarithm of the number
// of copies, each weighted by its age. All copies age alike, so the order of
// clusters does not depend on the time of the query, and heat only grows.
type counted struct {
	lead, original uint32
	size           int
	first, last    int64
	heat           float64
	recent         map[int64]int64 // last arrival by source; 0: without a source
	originalAt     int64
	timed          bool // the lead has a time of publication
}

// member is a row of a cluster's members.
type member struct {
	ordinal   uint32
	source    int64
	published sql.NullInt64
	arrived   int64
}

func newCounted(lead uint32) *counted {
	return &counted{lead: lead, recent: map[int64]int64{}}
}

func (s *counted) add(m *member) {
	arrived := m.arrived
	if when := m.published.Int64; m.published.Valid && credible(when, arrived) {
		if s.original == 0 || when < s.originalAt {
			s.original, s.originalAt = m.ordinal, when
		}
		s.timed = s.timed || m.ordinal == s.lead
	}
	if s.size == 0 {
		s.first, s.last, s.heat = arrived, arrived, math.Inf(-1)
	}
	s.size++
	s.first, s.last = min(s.first, arrived), max(s.last, arrived)
	if m.ordinal != s.lead {
		s.heat = addHeat(s.heat, heatAt(arrived))
	}
	s.recent[m.source] = max(s.recent[m.source], arrived)
}

// sources are the numbers of the members' sources.
func (s *counted) sources() []int64 {
	return slices.DeleteFunc(slices.Collect(maps.Keys(s.recent)), func(n int64) bool { return n == 0 })
}

// presumed is the presumed original: the first member by time of publication, or the
// lead where its own time is not known.
func (s *counted) presumed() uint32 {
	if !s.timed {
		return s.lead
	}
	return s.original
}

// heatAt is the heat of one copy that arrived at a time. What arrived while the clock was ahead is as hot as what
// arrives now.
func heatAt(ms int64) float64 {
	ms = min(ms, time.Now().UnixMilli())
	return float64(ms-heatEpoch.UnixMilli()) / float64(HeatHalf.Milliseconds())
}

// addHeat adds two heats, which are logarithms to base 2.
func addHeat(a, b float64) float64 {
	hi, lo := max(a, b), min(a, b)
	return hi + math.Log2(1+math.Exp2(lo-hi))
}

// pull is the heat of sources instead of copies: a source that has ten copies of a cluster
// counts once, by its last copy.
func (s *counted) pull() float64 {
	pull := math.Inf(-1)
	for _, at := range s.recent {
		pull = addHeat(pull, heatAt(at))
	}
	return pull
}
