package browse

import (
	"database/sql"
	"encoding/json"
	"math"

	"jianguo/compare/reason"
	"jianguo/index/verdict"
)

// listedEvent is one event with its item and the item that it is a copy of.
type listedEvent struct {
	number                   uint64
	ordinal, of, cluster     uint32
	series                   uint32
	verdict, previous        verdict.Verdict
	cause                    verdict.Cause
	rule                     verdict.Rule
	source                   int64
	published, arrived       int64
	evidence                 sql.NullString
	id                       string
	ofSource                 int64
	ofSeries                 uint32
	ofPublished, ofArrived   int64
	wasCluster, wasOfCluster uint32
}

const listedQuery = `SELECT e.number, e.ordinal, coalesce(e.of, 0), e.cluster, i.cluster, coalesce(i.series, 0),
	e.verdict, e.previous, e.cause, e.rule, coalesce(i.source, 0), coalesce(i.published_at, 0), i.arrived_at,
	i.evidence, i.id, coalesce(o.source, 0), coalesce(o.published_at, 0),
	coalesce(o.arrived_at, 0), coalesce(o.cluster, 0), coalesce(o.series, 0)
	FROM events e JOIN items i ON i.ordinal = e.ordinal LEFT JOIN items o ON o.ordinal = e.of
	WHERE e.number > ? ORDER BY e.number LIMIT ?`

func (s *listedEvent) columns() []any {
	return []any{&s.number, &s.ordinal, &s.of, &s.cluster, &s.wasCluster, &s.series,
		&s.verdict, &s.previous, &s.cause, &s.rule, &s.source, &s.published, &s.arrived,
		&s.evidence, &s.id, &s.ofSource, &s.ofPublished,
		&s.ofArrived, &s.wasOfCluster, &s.ofSeries}
}

// arrives reports whether the event is the arrival of a version.
func (s *listedEvent) arrives() bool {
	return s.cause == verdict.CauseIngest || s.cause == verdict.CauseRevision
}

// copied reports whether the event is the first that calls one item a copy of
// another: it was rejected, it is licensed, or its preferred original arrived
// later.
func (s *listedEvent) copied() bool {
	return s.arrives() && (s.verdict == verdict.Duplicate || s.rule == verdict.ByLicence) ||
		s.cause == verdict.CausePromotion && s.rule == verdict.ByPreference
}

// early reports whether the item was published before the one that it was called a copy of.
func (s *listedEvent) early() bool {
	return credible(s.published, s.arrived) && credible(s.ofPublished, s.ofArrived) && s.published < s.ofPublished
}

// lot is an item's rank in the daily sample: fixed, but a publisher cannot
// foresee it.
func lot(ordinal uint32) int64 {
	h := uint64(ordinal) * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return int64(h >> 33)
}

// repeats is how little an item adds to the earlier text, 0…1: the share of it that is not new, less .02 for each new
// fact; 1 where the texts were not compared.
func (s *listedEvent) repeats() float64 {
	var f reason.Facts
	if json.Unmarshal([]byte(s.evidence.String), &f) != nil || f.New == nil {
		return 1
	}
	return math.Max(0, 1-float64(f.New.Share)-.02*float64(f.New.Facts))
}

// follower is one transaction of the lists.
type follower struct {
	*Model
	*transaction
	touched map[uint32]bool // clusters that may have changed
}
