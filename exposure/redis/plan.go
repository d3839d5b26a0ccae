package redis

import (
	"cmp"
	"slices"
	"time"
	"unicode/utf8"

	"jianguo/exposure/state"
	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
)

// Report is a part of a user's history, to be reported at once.
type Report struct {
	At    time.Time // zero: not known
	Items []string  // oldest first
}

// datedNewest is how many of the newest exposures are reported by the day. Older ones lie in
// shards, which know no more than a month.
const datedNewest = 512

// reportItems is the most items of a report. One keeps a user's history from the others
// for about a millisecond.
const reportItems = 4000

// spare is how many keys of a user's history remain free for reports that arrive while the
// import runs.
const spare = 64

// Plan chooses what of a user's exposures, newest first, to import, and groups it into reports, oldest first. The
// policy keeps a number of keys by the order in which they were reported, so an import may only fill what is free
// beside info: otherwise it would push out what the user has seen since. What is no id is left out.
func Plan(p *state.Policy, exposures []trace.Exposure, info trace.History, now time.Time) []Report {
	used := map[string]int{} // keys by month; Rotate: all under ""
	for _, sh := range info.Shards {
		used[sh.Month] += sh.Keys
	}
	// The keys of the tail have months of their own, which nobody tells: they count in each.
	free := p.Remembered() - spare - info.Tail
	var newest time.Time
	for _, e := range exposures {
		if e.At.After(newest) {
			newest = e.At
		}
	}
	newest = cmp.Or(newest, now)
	var kept []trace.Exposure
	listed := map[string]bool{}
	for _, e := range exposures {
		if listed[e.ID] || wire.CheckName("items", e.ID, true) != nil || !utf8.ValidString(e.ID) {
			continue
		}
		listed[e.ID] = true
		at, month := newest, ""
		if p.Kind == state.Calendar {
			at = cmp.Or(e.At, now)
			month = at.In(now.Location()).Format("2006-01")
		}
		if !at.Before(p.Oldest(now)) && used[month] < free {
			used[month]++
			kept = append(kept, e)
		}
	}
	return group(kept)
}

// group makes reports of exposures.
func group(kept []trace.Exposure) []Report {
	slices.SortStableFunc(kept, func(a, b trace.Exposure) int { return b.At.Compare(a.At) })
	var reports []Report
	last := ""
	for i, e := range kept {
		when := e.At.Format("2006-01")
		if i < datedNewest {
			when = e.At.Format(time.DateOnly)
		}
		n := len(reports) - 1
		if n < 0 || when != last || len(reports[n].Items) == reportItems {
			reports = append(reports, Report{At: e.At})
			last = when
			n++
		}
		reports[n].Items = append(reports[n].Items, e.ID)
	}
	slices.Reverse(reports)
	for i := range reports {
		slices.Reverse(reports[i].Items)
	}
	return reports
}
