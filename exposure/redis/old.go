package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"

	"jianguo/exposure/state"
	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
	"jianguo/internal/clock"
)

// Old is the Redis that a platform had before, from which the histories of its users are imported. It is only read.
type Old struct {
	key    string // of a user's items, with userField
	option rueidis.ClientOption
	logger *slog.Logger
	use    Import
}

// Import stores what the old store held of a user, newest first. It may be called again, and from several goroutines.
type Import func(ctx context.Context, user string, history []Exposure) error

// Exposure is an item that a user was shown, and when; zero if that is not known.
type Exposure struct {
	ID string
	At time.Time
}

// userField stands for the user in a pattern of keys.
const userField = "{user}"

// importers is how many users are imported at once, at most.
const importers = 16

// OpenOld names a Redis or a Redis Cluster in which a user's key is as key says. It need not answer yet.
func OpenOld(url, key string, logger *slog.Logger, use Import) (*Old, error) {
	if strings.Count(key, userField) != 1 {
		return nil, fmt.Errorf("--legacy-key %q: it must have %s once", key, userField)
	}
	option, err := rueidis.ParseURL(url)
	if err != nil { // which may repeat a password
		return nil, errors.New("--legacy-redis: the address cannot be read; want redis://[USER:PASSWORD@]HOST:PORT/DB")
	}
	option.DisableCache, option.AlwaysRESP2, option.DisableRetry = true, true, true // works with every version
	return &Old{key: key, option: option, logger: logger, use: use}, nil
}

// ImportAll imports every user of the old store, or tries until the context ends. After a failure it begins
// again: a user who is imported is passed quickly.
func (o *Old) ImportAll(ctx context.Context) {
	for {
		w, err := o.importAll(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			o.logger.WarnContext(ctx, "exposure: all users of the old store are imported", "walked", w.String())
			return
		}
		o.logger.WarnContext(ctx, "exposure: the import from the old store begins again", "walked", w.String(),
			"err", err)
		_ = clock.Sleep(ctx, 10*time.Second)
	}
}

// walked is what a walk over the keys that match has met.
type walked struct {
	users, foreign int
	names          []string // of some foreign keys
}

func (w walked) String() string {
	return fmt.Sprintf("%d users, %d foreign keys %s", w.users, w.foreign, strings.Join(w.names, ", "))
}

// importAll walks over the keys. One of another type, or of what is no user id, is foreign. Users are read one after
// the other, with rests as long as the reads, which leave the old store to others.
func (o *Old) importAll(ctx context.Context) (w walked, err error) {
	client, err := rueidis.NewClient(o.option)
	if err != nil {
		return w, err
	}
	defer client.Close()
	before, after, _ := strings.Cut(o.key, userField)
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(importers)
	err = Scan(ctx, client, Pattern(before)+"*"+Pattern(after), func(keys []string) error {
		types := make(rueidis.Commands, len(keys))
		for i, key := range keys {
			types[i] = client.B().Type().Key(key).Build()
		}
		for i, result := range client.DoMulti(ctx, types...) {
			kind, err := result.ToString()
			user := strings.TrimSuffix(strings.TrimPrefix(keys[i], before), after)
			named := utf8.ValidString(user) && wire.CheckName("user", user, true) == nil
			if err == nil && (!slices.Contains(kinds, kind) || !named) {
				if w.foreign++; len(w.names) < 5 {
					w.names = append(w.names, fmt.Sprintf("%.80q (%s)", keys[i], kind))
				}
				continue
			}
			w.users++
			started := time.Now()
			history, readErr := read(ctx, client, keys[i], kind)
			if err = cmp.Or(err, readErr, clock.Sleep(ctx, time.Since(started))); err != nil {
				return fmt.Errorf("old store, key %q: %w", keys[i], err)
			}
			work.Go(func() error { return o.use(ctx, user, history) })
		}
		return nil
	})
	if err = errors.Join(work.Wait(), err); err == nil && w.users == 0 {
		err = fmt.Errorf("--legacy-key %s: no ZSET, SET or LIST of the old store has such a key", o.key)
	}
	return w, err
}

// kinds are the types of the keys that are imported.
var kinds = []string{"zset", "set", "list"}

// read returns what a key holds, newest first where its type tells (a list has its newest item first, as LPUSH leaves
// it).
func read(ctx context.Context, client rueidis.Client, key, kind string) (out []Exposure, err error) {
	if kind == "zset" {
		all := client.B().Zrange().Key(key).Min("0").Max("-1").Rev().Withscores().Build()
		scores, err := client.Do(ctx, all).AsZScores()
		for _, z := range scores {
			out = append(out, Exposure{ID: z.Member, At: scoreTime(z.Score)})
		}
		return out, err
	}
	all := client.B().Smembers().Key(key).Build()
	if kind == "list" {
		all = client.B().Lrange().Key(key).Start(0).Stop(-1).Build()
	}
	ids, err := client.Do(ctx, all).AsStrSlice()
	for _, id := range ids {
		out = append(out, Exposure{ID: id})
	}
	return out, err
}

// scoreTime is the time of a score in seconds or milliseconds, between 2001 and 2286; otherwise it is
// zero.
func scoreTime(score float64) time.Time {
	switch {
	case score >= 1e9 && score < 1e10:
		return time.UnixMilli(int64(score * 1000))
	case score >= 1e12 && score < 1e13:
		return time.UnixMilli(int64(score))
	}
	return time.Time{}
}

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
func Plan(p *state.Policy, exposures []Exposure, info trace.History, now time.Time) []Report {
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
	var kept []Exposure
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
	return group(kept, now.Location())
}

// group makes reports of exposures, by days and months of a zone.
func group(kept []Exposure, zone *time.Location) (reports []Report) {
	slices.SortStableFunc(kept, func(a, b Exposure) int { return b.At.Compare(a.At) })
	last := ""
	for i, e := range slices.Backward(kept) {
		when := e.At.In(zone).Format("2006-01")
		if i < datedNewest {
			when = e.At.In(zone).Format(time.DateOnly)
		}
		n := len(reports) - 1
		if n < 0 || when != last || len(reports[n].Items) == reportItems {
			reports = append(reports, Report{})
			last = when
			n++
		}
		reports[n].At = e.At
		reports[n].Items = append(reports[n].Items, e.ID)
	}
	return reports
}
