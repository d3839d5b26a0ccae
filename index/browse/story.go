package browse

import (
	"database/sql"
	"maps"
	"math"
	"slices"
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
)

// SparkSteps is how many steps a story's sparkline has.
const SparkSteps = 24

// HeatHalf is the time after which a copy counts half in the order by recent
// growth.
const HeatHalf = 12 * time.Hour

var heatEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// story is derived from a cluster's members. Heat is the logarithm of the number
// of copies, each weighted by its age. All copies age alike, so the order of
// stories does not depend on the time of the query, and heat only grows.
type story struct {
	lead, original uint32
	size           int
	rules          uint32
	first, last    int64
	whenFirst      int64 // of publication
	whenLast       int64
	heat           float64
	recent         map[int64]int64 // last arrival by source; 0: without a source
	whens          []int64
	originalAt     int64
	timed          bool // the lead has a time of publication
}

// member is a member of a story.
type member struct {
	ordinal   uint32
	rule      verdict.Rule
	source    int64
	published sql.NullInt64
	arrived   int64
	name      string // of the source
}

func newStory(lead uint32) *story {
	return &story{lead: lead, recent: map[int64]int64{}}
}

func (s *story) add(m *member) {
	when, at, arrived := m.arrived, time.UnixMilli(m.published.Int64), m.arrived
	if m.published.Valid && index.Credible(&at, time.UnixMilli(arrived)) {
		when = m.published.Int64
		if s.original == 0 || when < s.originalAt {
			s.original, s.originalAt = m.ordinal, when
		}
		s.timed = s.timed || m.ordinal == s.lead
	}
	if s.size == 0 {
		s.first, s.last, s.whenFirst, s.whenLast, s.heat = arrived, arrived, when, when, math.Inf(-1)
	}
	s.size++
	s.first, s.last = min(s.first, arrived), max(s.last, arrived)
	s.whenFirst, s.whenLast = min(s.whenFirst, when), max(s.whenLast, when)
	s.whens = append(s.whens, when)
	if m.ordinal != s.lead {
		s.rules |= 1 << m.rule
		s.heat = addHeat(s.heat, heatAt(arrived))
	}
	s.recent[m.source] = max(s.recent[m.source], arrived)
}

// sources are the numbers of the members' sources.
func (s *story) sources() []int64 {
	return slices.DeleteFunc(slices.Collect(maps.Keys(s.recent)), func(n int64) bool { return n == 0 })
}

// presumed is the presumed original: the first member by time of publication, or the
// lead where its own time is not known.
func (s *story) presumed() uint32 {
	if !s.timed {
		return s.lead
	}
	return s.original
}

// heatAt is the heat of one copy that arrived at a time.
func heatAt(ms int64) float64 {
	return float64(ms-heatEpoch.UnixMilli()) / float64(HeatHalf.Milliseconds())
}

// addHeat adds two heats, which are logarithms to base 2.
func addHeat(a, b float64) float64 {
	hi, lo := max(a, b), min(a, b)
	return hi + math.Log2(1+math.Exp2(lo-hi))
}

// pull is the heat of sources instead of copies: a source that copies a story ten
// times counts once, by its last copy.
func (s *story) pull() float64 {
	pull := math.Inf(-1)
	for _, at := range s.recent {
		pull = addHeat(pull, heatAt(at))
	}
	return pull
}

// spark counts the members published in each of SparkSteps equal parts of the
// time between the first and the last, scaled so that the largest is 255.
func (s *story) spark() []byte {
	var counts [SparkSteps]int
	most := 1
	for _, when := range s.whens {
		i := 0
		if span := s.whenLast - s.whenFirst; span > 0 {
			i = int((when - s.whenFirst) * (SparkSteps - 1) / span)
		}
		counts[i]++
		most = max(most, counts[i])
	}
	out := make([]byte, SparkSteps)
	for i, n := range counts {
		if n > 0 {
			out[i] = byte(max(1, n*255/most))
		}
	}
	return out
}

func ruleList(bits uint32) (rules []verdict.Rule) {
	for r := verdict.ByExact; r <= verdict.ByPreference; r++ {
		if bits&(1<<r) != 0 {
			rules = append(rules, r)
		}
	}
	return rules
}
