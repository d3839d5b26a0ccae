package importer

import (
	"slices"
	"sort"
	"time"

	"jianguo/exposure/state"
	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
)

// Report is the body of POST /exposures.
type Report struct {
	User  string     `json:"user"`
	Scene string     `json:"scene,omitempty"`
	Kind  string     `json:"kind"`
	At    *time.Time `json:"at,omitempty"`
	Items []string   `json:"items"`
}

// datedNewest is how many of the newest exposures are reported by the day. Older ones lie in
// shards, which know no more than a month.
const datedNewest = 512

// reportItems is the most items of a report. One keeps a user's history from the others
// for about a millisecond.
const reportItems = 4000

// spare is how many keys of a user's history are left free for reports that arrive while the
// import runs.
const spare = 64

// Plan chooses what of a user to import, and groups it into reports, oldest first. The policy
// keeps a number of keys by the order in which they were reported, so an import may only fill
// what is free: otherwise it would push out what the user has seen since.
func Plan(p *state.Policy, u *User, info trace.History, now time.Time) ([]Report, Summary) {
	n := Summary{Users: 1, Held: int64(u.Held)}
	var kept []trace.Exposure
	room := roomOf(p, info)
	newest := newestOf(u.Exposures)
	listed := map[string]bool{}
	for _, e := range u.Exposures {
		switch {
		case e.ID == "" || len(e.ID) > wire.MaxIDBytes:
			n.Refused++
			continue
		case listed[e.ID]:
			continue
		case e.At.IsZero():
			n.Untimed++
		}
		listed[e.ID] = true
		if u.Kind == state.Delivered {
			if len(kept) < state.RingSize && (e.At.IsZero() || now.Sub(e.At) < state.RingTTL) {
				kept = append(kept, e)
			}
			continue
		}
		if room.take(e.At, newest, now) {
			kept = append(kept, e)
		}
	}
	n.Forgotten = max(0, n.Held-n.Refused-int64(len(kept)))
	return group(u, kept), n
}

func newestOf(list []trace.Exposure) (t time.Time) {
	for _, e := range list {
		if e.At.After(t) {
			t = e.At
		}
	}
	return t
}

// historyOf is the history that keeps reports of a kind.
func historyOf(kind state.EventKind, info trace.History) trace.History {
	for _, h := range append([]trace.History{info}, info.Others...) {
		if slices.Contains(h.Kinds, string(kind)) || h.Kinds == nil && (kind == state.Seen || kind == state.Delivered) {
			return h
		}
	}
	return info
}

// room is how many keys of a user fit, all in one, or by the month.
type room struct {
	policy *state.Policy
	free   int            // of an epoch that holds nothing
	used   map[string]int // by month; Rotate: all under ""
}

func roomOf(p *state.Policy, info trace.History) *room {
	r := &room{policy: p, free: p.Remembered() - spare, used: map[string]int{}}
	for _, sh := range info.Shards {
		r.used[sh.Month] += sh.Keys
	}
	// The keys of the tail have months of their own, which nobody tells: they count in each.
	r.free -= info.Tail
	return r
}

// take reserves a key of a time. newest is the time of the user's newest exposure.
func (r *room) take(at, newest, now time.Time) bool {
	if at.IsZero() {
		at = now
	}
	if newest.IsZero() {
		newest = now
	}
	month := ""
	if r.policy.Kind == state.Calendar {
		if at.Before(r.policy.Oldest(now)) {
			return false
		}
		month = at.In(now.Location()).Format("2006-01")
	} else if newest.Before(r.policy.Oldest(now)) {
		return false
	}
	if r.used[month] >= r.free {
		return false
	}
	r.used[month]++
	return true
}

// group makes reports of exposures, which are newest first.
func group(u *User, kept []trace.Exposure) []Report {
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].At.After(kept[j].At) })
	var reports []Report
	last := ""
	for i, e := range kept {
		when := e.At.Format("2006-01")
		if i < datedNewest {
			when = e.At.Format("2006-01-02")
		}
		n := len(reports) - 1
		if n < 0 || when != last || len(reports[n].Items) == reportItems {
			r := Report{User: u.Name, Scene: u.Scene, Kind: string(u.Kind)}
			if !e.At.IsZero() {
				r.At = &kept[i].At
			}
			reports = append(reports, r)
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
