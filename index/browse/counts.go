package browse

import (
	"math"
	"time"

	"jianguo/index/verdict"
)

// counts are a batch's additions to the tables of counts, by table and keys.
type counts map[count]tally

type count struct {
	table string
	keys  [3]int64
}

type tally [3]int64

func (c counts) add(table string, t tally, keys ...int64) {
	k := count{table: table}
	copy(k.keys[:], keys)
	have := c[k]
	for i := range have {
		have[i] += t[i]
	}
	c[k] = have
}

var countQueries = map[string]string{
	"hours": `INSERT INTO hours VALUES (?1,?4,?5,?6) ON CONFLICT (hour) DO UPDATE SET
		items = items + ?4, duplicates = duplicates + ?5, suspects = suspects + ?6`,
	"source_days": `INSERT INTO source_days VALUES (?1,?2,?4,?5,?6) ON CONFLICT (source, day) DO UPDATE SET
		items = items + ?4, duplicates = duplicates + ?5, suspects = suspects + ?6`,
	"pairs":    `INSERT INTO pairs VALUES (?1,?2,?3,?4) ON CONFLICT (origin, copier, day) DO UPDATE SET n = n + ?4`,
	"pairings": `INSERT INTO pairings VALUES (?1,?2,?4) ON CONFLICT (source, day) DO UPDATE SET n = n + ?4`,
	"families": `INSERT INTO families VALUES (?1,?4) ON CONFLICT (series) DO UPDATE SET n = n + ?4`,
	"delays":   `INSERT INTO delays VALUES (?1,?2,?4) ON CONFLICT (source, bucket) DO UPDATE SET n = n + ?4`,
}

func (c counts) write(tx *transaction) {
	for k, t := range c {
		tx.exec(countQueries[k.table], k.keys[0], k.keys[1], k.keys[2], t[0], t[1], t[2])
	}
}

// count adds the arrival of a version to what is counted.
func (w *follower) count(s *seen) {
	t := tally{1, 0, 0}
	switch s.verdict {
	case verdict.Duplicate:
		t[1] = 1
	case verdict.Suspect:
		t[2] = 1
	}
	w.counts.add("hours", t, s.arrived/3_600_000)
	if s.series != 0 {
		w.counts.add("families", tally{1}, int64(s.series))
	}
	if s.source == 0 {
		return
	}
	w.counts.add("source_days", t, s.source, w.day(s.arrived))
}

// countPair adds a copy to the counts of pairs of sources.
func (w *follower) countPair(s *seen) {
	if s.source == 0 || s.ofSource == 0 {
		return
	}
	// The origin is the source that published first, not the one that delivered
	// first.
	origin, copier := s.ofSource, s.source
	mine, theirs := credibleMillis(s.published, s.arrived), credibleMillis(s.ofPublished, s.ofArrived)
	delay := mine - theirs
	if delay < 0 && s.published != 0 && s.ofPublished != 0 {
		origin, copier, delay = copier, origin, -delay
	}
	day := w.day(s.arrived)
	w.counts.add("pairs", tally{1}, origin, copier, day)
	w.counts.add("pairings", tally{1}, origin, day)
	w.counts.add("pairings", tally{1}, copier, day)
	w.counts.add("delays", tally{1}, copier, delayBucket(max(delay, 0)))
}

func credibleMillis(published, arrived int64) int64 {
	if published != 0 && published <= arrived+3_600_000 {
		return published
	}
	return arrived
}

// delayBucket is a delay in quarters of powers of two, in minutes.
func delayBucket(ms int64) int64 {
	return int64(math.Round(4 * math.Log2(1+float64(ms)/60_000)))
}

func bucketDelay(bucket int64) time.Duration {
	return time.Duration((math.Exp2(float64(bucket)/4) - 1) * float64(time.Minute))
}
