package state

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bits-and-blooms/bloom/v3"
)

// PolicyKind is the rule by which a history forgets.
type PolicyKind uint8

const (
	// Rotate keeps a fixed number of shards and drops the oldest one when a
	// new one is needed; a user who reports nothing for the TTL is forgotten.
	Rotate PolicyKind = iota
	// Calendar keeps a set of shards a month and reads the current month and
	// a number of whole months before it.
	Calendar
)

func (k PolicyKind) String() string {
	if k == Calendar {
		return "calendar"
	}
	return "rotate"
}

// Limits that no policy may pass; the decoder relies on them.
const (
	MaxShards   = 64      // shards a user, whole history
	MaxCapacity = 1 << 20 // keys a shard
	MaxTail     = 4096    // keys in a tail
	MaxExcepted = 64      // un-seen keys that a shard still holds

	maxTTL = 350_000 * time.Hour // 40 years: the bytes of a state hold no time before 1970
)

// Policy says how much of a user's history is kept, and for how long. The zero
// value is Rotate, 5 shards of 1,000 keys, 5 days.
//
// The false-positive budget belongs to the user, not to a shard: with N shards
// readable at once every shard is built for p = 0.8 × Target / N, so that the
// union bound over all of them stays under Target with a fifth to spare.
type Policy struct {
	Kind PolicyKind
	// Slots is the number of shards kept: in all for Rotate (default 5), in
	// each month for Calendar (default 4). The newest (Slots-1) × Capacity
	// distinct keys, of the user or of the month, are always remembered.
	Slots    int
	Capacity int // keys of a shard (default 1,000)
	// Large is the number of keys of shards after the first Small ones (default: none for Rotate,
	// 10,000 for Calendar; negative: none).
	Large  int
	Small  int     // shards of Capacity before the first Large one (default 1 for Rotate, 2 for Calendar)
	Target float64 // the user's false-positive budget (default 0.001)
	// TTL is the time after a user's newest exposure at which Rotate forgets
	// all of it (default 5 days). Calendar goes by months instead.
	TTL    time.Duration
	Months int // whole months that Calendar reads in addition to the current one (default 3)
	// Tail is the number of keys held exactly before the first fold (default
	// 512); with shards behind it a tail folds at half of it and keeps an eighth
	// to a quarter.
	Tail int
}

// WithDefaults fills the zero fields and rejects what cannot be kept.
func (p Policy) WithDefaults() (Policy, error) {
	if p.Kind == Calendar {
		p.Slots, p.Large = cmp.Or(p.Slots, 4), cmp.Or(p.Large, 10_000)
		p.Small, p.Months = cmp.Or(p.Small, 2), cmp.Or(p.Months, 3)
	}
	p.Slots, p.Small = cmp.Or(p.Slots, 5), cmp.Or(p.Small, 1)
	p.Capacity, p.Tail = cmp.Or(p.Capacity, 1000), cmp.Or(p.Tail, 512)
	p.Target, p.TTL = cmp.Or(p.Target, 0.001), cmp.Or(p.TTL, 5*24*time.Hour)
	if p.Large <= 0 {
		p.Large = -1 // and not zero, so that defaults can be filled in twice
	}
	switch {
	case p.Kind > Calendar:
		return p, fmt.Errorf("exposure: policy kind %d is unknown", p.Kind)
	case p.Slots < 2 || p.Months < 0 || max(p.Slots, p.Months, p.Shards()) > MaxShards: // a product may overflow
		return p, fmt.Errorf("exposure: policy has slots=%d and months=%d, want 2 slots or more, and "+
			"slots × (months + 1) at most %d", p.Slots, p.Months, MaxShards)
	case p.Capacity < 64 || p.Capacity > MaxCapacity:
		return p, fmt.Errorf("exposure: policy capacity %d, want 64 to %d", p.Capacity, MaxCapacity)
	case p.Large > 0 && (p.Large < p.Capacity || p.Large > MaxCapacity):
		return p, fmt.Errorf("exposure: policy large capacity %d, want %d to %d", p.Large, p.Capacity, MaxCapacity)
	case p.Small < 0:
		return p, fmt.Errorf("exposure: policy has %d small shards", p.Small)
	case !(p.Target >= 1e-9 && p.Target <= 0.05): // less takes filters that no decoder reads
		return p, fmt.Errorf("exposure: policy target %g, want 1e-9 to 0.05", p.Target)
	case p.TTL < time.Minute || p.TTL > maxTTL:
		return p, fmt.Errorf("exposure: policy ttl %s, want a minute to %s", p.TTL, maxTTL)
	case p.Tail < 8 || p.Tail > MaxTail:
		return p, fmt.Errorf("exposure: policy tail %d, want 8 to %d", p.Tail, MaxTail)
	}
	return p, nil
}

// Shards is N: the shards readable at once.
func (p Policy) Shards() int {
	if p.Kind == Calendar {
		return p.Slots * (p.Months + 1)
	}
	return p.Slots
}

// ShardRate is p, the false-positive rate each shard is built for when full.
func (p Policy) ShardRate() float64 { return 0.8 * p.Target / float64(p.Shards()) }

// Geometry is the (m, k) of a shard of so many keys, by the usual estimate
// (Bloom 1970; m = -n·ln p / ln²2, k = m/n · ln 2) as bloom/v3 rounds it.
func (p Policy) Geometry(capacity int) (m uint32, k uint8) {
	mm, kk := bloom.EstimateParameters(uint(capacity), p.ShardRate())
	return uint32(mm), uint8(kk)
}

// nextCapacity is the capacity of the next shard after those given: small ones first, then large ones.
func (p Policy) nextCapacity(small int, large bool) int {
	if p.Large > 0 && (large || small >= p.Small) {
		return p.Large
	}
	return p.Capacity
}

// Remembered is how many keys in a row are remembered before the first of them is dropped; for Calendar, of
// one month.
func (p Policy) Remembered() int {
	n := p.Tail / 4
	for i := range p.Slots {
		n += p.nextCapacity(i, false)
	}
	return n
}

// A Day is the coarse time of a key: days since 1970-01-01 in the store's time
// zone, fixed when the event is applied, so that a key near midnight belongs to
// the month its user was in.
type Day int32

func DayOf(t time.Time) Day {
	y, m, d := t.Date()
	return Day(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

func (d Day) String() string { return time.Unix(int64(d)*86400, 0).UTC().Format(time.DateOnly) }

// MonthOf numbers months since year 0.
func MonthOf(d Day) int32 {
	t := time.Unix(int64(d)*86400, 0).UTC()
	return int32(t.Year())*12 + int32(t.Month()) - 1
}

// EpochOf is the set of shards a key of that day folds into.
func (p *Policy) EpochOf(d Day) int32 {
	if p.Kind == Calendar {
		return MonthOf(d)
	}
	return 0
}

// OldestEpoch is the first epoch still readable at a time.
func (p *Policy) OldestEpoch(now time.Time) int32 {
	if p.Kind == Calendar {
		return MonthOf(DayOf(now)) - int32(p.Months)
	}
	return 0
}

// NextBoundary is when what is read of a user whose newest exposure was at last changes next by itself.
func (p *Policy) NextBoundary(last, now time.Time) time.Time {
	if p.Kind == Calendar {
		return monthStart(now, 1)
	}
	return last.Add(p.TTL)
}

// monthStart is the first moment of the month so many months later. Where clocks go forward at that very
// midnight, time.Date gives a moment of the day before.
func monthStart(t time.Time, months int) time.Time {
	t = time.Date(t.Year(), t.Month()+time.Month(months), 1, 0, 0, 0, 0, t.Location())
	for t.Day() != 1 {
		t = t.Add(time.Minute)
	}
	return t
}

// lateKept is how long a report is remembered at least, however old it says it is:
// an answered report must be known to the next filter. Half of a TTL that is shorter
// than two of them.
const lateKept = 24 * time.Hour

// Clamp moves an event's own time into what is retained: never after now, never
// before the oldest moment that the policy still reads lateKept from now.
func (p *Policy) Clamp(at, now time.Time) time.Time {
	if at.IsZero() || at.After(now) {
		return now
	}
	late := lateKept
	if p.Kind == Rotate {
		late = min(late, p.TTL/2)
	}
	if edge := p.Oldest(now.Add(late)); at.Before(edge) {
		return edge
	}
	return at.In(now.Location())
}

// Oldest is the earliest time of an exposure that is still read: of the exposure itself for
// Calendar, of the user's newest one for Rotate.
func (p Policy) Oldest(now time.Time) time.Time {
	if p.Kind == Calendar {
		return monthStart(now, -p.Months)
	}
	return now.Add(-p.TTL)
}

// Expired says whether nothing of a user whose newest exposure was at last can
// be read any more.
func (p *Policy) Expired(last, now time.Time) bool {
	if p.Kind == Calendar {
		return MonthOf(DayOf(last)) < p.OldestEpoch(now)
	}
	return !last.Add(p.TTL).After(now)
}

// Kept is how long after a change something of a user's state may be read.
func (p *Policy) Kept() time.Duration {
	if p.Kind == Calendar {
		return time.Duration(p.Months+2) * 31 * 24 * time.Hour
	}
	return p.TTL + time.Hour
}

// ParsePolicy reads "rotate" or "calendar", optionally followed by settings:
// "rotate,slots=3,small=1,large=10000,ttl=120h". Settings are slots, capacity,
// small, large, tail and target, of rotate ttl, and of calendar months.
func ParsePolicy(s string) (Policy, error) {
	var p Policy
	name, rest, _ := strings.Cut(s, ",")
	switch name {
	case "rotate", "":
	case "calendar":
		p.Kind = Calendar
	default:
		return p, fmt.Errorf("exposure: policy %q is neither rotate nor calendar", name)
	}
	ints := map[string]*int{"slots": &p.Slots, "capacity": &p.Capacity, "small": &p.Small,
		"large": &p.Large, "tail": &p.Tail}
	if p.Kind == Calendar {
		ints["months"] = &p.Months
	}
	for rest != "" {
		var field string
		field, rest, _ = strings.Cut(rest, ",")
		k, v, _ := strings.Cut(field, "=")
		var err error
		zero := false
		switch {
		case ints[k] != nil:
			*ints[k], err = strconv.Atoi(v)
			zero = *ints[k] == 0
		case k == "target":
			p.Target, err = strconv.ParseFloat(v, 64)
			zero = p.Target == 0
		case k == "ttl" && p.Kind == Rotate:
			p.TTL, err = time.ParseDuration(v)
			zero = p.TTL == 0
		default:
			err = errors.New("want slots, capacity, small, large, tail or target, or of rotate ttl, of calendar months")
		}
		if err == nil && zero {
			err = errors.New("0 is no value: leave it out for the default; large=-1 is none")
		}
		if err != nil {
			return p, fmt.Errorf("exposure: policy setting %q: %w", field, err)
		}
	}
	if p.Kind == Rotate && p.Small != 0 && p.Large == 0 {
		return p, errors.New("exposure: policy setting \"small\" has no effect without large")
	}
	return p.WithDefaults()
}

// String is the form ParsePolicy reads, with every setting spelled out.
func (p Policy) String() string {
	p, _ = p.WithDefaults()
	kept := fmt.Sprintf("ttl=%s", p.TTL)
	if p.Kind == Calendar {
		kept = fmt.Sprintf("months=%d", p.Months)
	}
	return fmt.Sprintf("%s,slots=%d,capacity=%d,small=%d,large=%d,tail=%d,target=%g,%s",
		p.Kind, p.Slots, p.Capacity, p.Small, p.Large, p.Tail, p.Target, kept)
}
