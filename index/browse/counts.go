package browse

import (
	"time"

	"jianguo/index"
	"jianguo/index/verdict"
)

// count adds the arrival of a version to what is counted.
func (w *follower) count(s *seen) {
	duplicate, suspect := s.verdict == verdict.Duplicate, s.verdict == verdict.Suspect
	w.exec(`INSERT INTO hours VALUES (?1,1,?2,?3) ON CONFLICT (hour) DO UPDATE SET items = items + 1, duplicates = duplicates + ?2, suspects = suspects + ?3`,
		s.arrived/3_600_000, duplicate, suspect)
	if s.source != 0 {
		w.exec(`INSERT INTO source_days VALUES (?1,?2,1,?3,?4) ON CONFLICT (source, day) DO UPDATE SET items = items + 1, duplicates = duplicates + ?3, suspects = suspects + ?4`,
			s.source, dayOf(s.arrived), duplicate, suspect)
	}
}

// countPair adds a copy to the list of copies and to the counts of pairs of sources. The origin
// is the source that published first, not the one that delivered first. Without two times of
// publication there is no delay.
func (w *follower) countPair(s *seen) {
	origin, copier, delay := s.ofSource, s.source, any(nil)
	if credible(s.published, s.arrived) && credible(s.ofPublished, s.ofArrived) {
		behind := s.published - s.ofPublished
		if behind < 0 {
			origin, copier, behind = copier, origin, -behind
		}
		delay = behind
	}
	w.exec(`INSERT OR REPLACE INTO copies VALUES (?,?,?,?,?,?)`, s.ordinal, s.of, origin, copier, s.arrived, delay)
	if s.source == 0 || s.ofSource == 0 {
		return
	}
	day := dayOf(s.arrived)
	w.exec(`INSERT INTO pairs VALUES (?,?,?,1) ON CONFLICT (origin, copier, day) DO UPDATE SET n = n + 1`, origin, copier, day)
	for _, source := range []int64{origin, copier} {
		w.exec(`INSERT INTO pairings VALUES (?,?,1) ON CONFLICT (source, day) DO UPDATE SET n = n + 1`, source, day)
	}
}

// credible is index.Credible, in milliseconds.
func credible(published, arrived int64) bool {
	at := time.UnixMilli(published)
	return index.Credible(&at, time.UnixMilli(arrived))
}
