package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"

	"jianguo/exposure/kernel"
	"jianguo/exposure/state"
	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
	"jianguo/internal/wait"
)

// Old is the Redis that a platform had before, during the move from it. It answers filters as well, and the histories
// of users are imported from it: each user when asked for (Ask), or all of them (ImportAll). What a policy would
// forget is left out (Plan). The rest goes into the log like any report, oldest first, so that what is imported twice
// counts once. The old store is only read. Its fields are set before its first use, and all methods may
// then be called from any goroutine.
type Old struct {
	Timeout time.Duration // of a filter request
	Shadow  bool          // the old store alone answers; where jianguo differs is counted
	Logger  *slog.Logger
	// Import stores what the old store held of a user, newest first, and that it need not be asked again.
	Import               func(ctx context.Context, user string, history []trace.Exposure) error
	prometheus.Collector // the metrics, for the caller to register

	key     string
	client  atomic.Pointer[rueidis.Client] // nil until the server has answered once
	imports chan struct{}                  // one for each user being imported
	turn    sync.Mutex                     // of reads in the background

	asked, late, imported, compared prometheus.Counter
	differences                     *prometheus.CounterVec // by reason
}

const (
	importTimeout = 10 * time.Second
	importers     = 16 // users imported at once, at most
)

// OpenOld begins to connect to a Redis, in which a user's key is as key says. It need not answer yet.
func OpenOld(ctx context.Context, url, key string, logger *slog.Logger) (*Old, error) {
	all := prometheus.NewRegistry()
	auto := promauto.With(all)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: "jianguo_legacy_" + name, Help: help})
	}
	o := &Old{Logger: logger, key: key, imports: make(chan struct{}, importers), Collector: all,
		asked:    counter("requests_total", "Filter requests that asked the old store."),
		late:     counter("unanswered_total", "Of these, the ones it did not answer in time."),
		imported: counter("imported_users_total", "Users imported because they were asked for."),
		compared: counter("compared_items_total", "Items about which both stores were asked, with --shadow."),
		differences: auto.NewCounterVec(prometheus.CounterOpts{Name: "jianguo_legacy_differences_total",
			Help: "Of these, the ones about which they differ, by reason."}, []string{"reason"})}
	for _, reason := range reasons {
		o.differences.WithLabelValues(reason)
	}
	return o, o.connect(ctx, url)
}

// Ask adds what the old store holds to the marks of a request, and has the user imported. With Shadow it
// replaces the marks. known is false if the marks are not those of the user's state. Ask returns false if the
// old store did not answer in time.
func (o *Old) Ask(ctx context.Context, known, imported bool, q *wire.Query, marks []byte) bool {
	if imported && !o.Shadow {
		return true
	}
	o.asked.Inc()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	history, err := o.read(ctx, q.User)
	if known && !imported && !errors.Is(err, errAway) {
		o.importLater(q.User)
	}
	if err != nil {
		o.late.Inc()
		return false
	}
	held := make(map[string]bool, len(history))
	for _, e := range history {
		held[e.ID] = true
	}
	if o.Shadow && known {
		o.compare(q, marks, held, imported)
	}
	for i := range marks {
		if held[string(q.ID(i))] {
			marks[i] = kernel.Exact
		} else if o.Shadow {
			marks[i] = kernel.Unseen
		}
	}
	return true
}

// History is what the old store holds of a user. It may take a second: it is asked for by people.
func (o *Old) History(ctx context.Context, user string) ([]trace.Exposure, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return o.read(ctx, user)
}

// importLater imports a user. If too many are being imported, the user's next request asks again.
func (o *Old) importLater(user string) {
	select {
	case o.imports <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-o.imports }()
		if err := o.importUser(context.Background(), user); err != nil {
			o.Logger.Warn("exposure: a user's old history is not imported yet", "err", err)
		}
	}()
}

// importUser imports a user: one after the other, with rests as long as the reads, which leave the old store to others.
func (o *Old) importUser(ctx context.Context, user string) error {
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	o.turn.Lock()
	started := time.Now()
	history, err := o.read(ctx, user)
	err = cmp.Or(err, wait.For(ctx, time.Since(started)))
	o.turn.Unlock()
	if err == nil {
		err = o.Import(ctx, user, history)
	}
	if err == nil {
		o.imported.Inc()
	}
	return err
}

// reasonOf says why jianguo, which marks an item so, and the old store differ about it.
func reasonOf(mark byte, old, imported bool) string {
	switch {
	case old && !imported:
		return "not_imported" // only the old store has it, and the user is not imported yet
	case old:
		return "retention" // only the old store has it: the policy forgot it, or it was not reported here
	case mark == kernel.Exact:
		return "unknown_to_old" // only jianguo has it: the old store dropped it, or was not told
	}
	return "false_positive" // only a shard has it: also what the old store dropped long ago
}

var reasons = []string{"not_imported", "retention", "unknown_to_old", "false_positive"}

// compare counts where marks, those of jianguo, differ from what the old store holds.
func (o *Old) compare(q *wire.Query, marks []byte, held map[string]bool, imported bool) {
	o.compared.Add(float64(len(marks)))
	for i, mark := range marks {
		if old := held[string(q.ID(i))]; old != (mark != kernel.Unseen) {
			o.differences.WithLabelValues(reasonOf(mark, old, imported)).Inc()
		}
	}
}

// userField stands for the user in a pattern of keys.
const userField = "{user}"

// connect begins to connect to a Redis or a Redis Cluster. Nobody is asked about before a key matches: with a wrong key
// every user would count as imported, with nothing.
func (o *Old) connect(ctx context.Context, url string) error {
	option, err := o.options(url)
	if err != nil {
		return err
	}
	go func() {
		for ctx.Err() == nil {
			client, err := rueidis.NewClient(option)
			pause := time.Second
			if err == nil {
				if err = o.matches(ctx, client); err == nil {
					o.client.Store(&client)
					return
				}
				client.Close()
				pause = time.Minute
			}
			o.Logger.ErrorContext(ctx, "exposure: the old store cannot be asked yet", "err", err)
			_ = wait.For(ctx, pause)
		}
	}()
	return nil
}

func (o *Old) options(url string) (option rueidis.ClientOption, err error) {
	if strings.Count(o.key, userField) != 1 {
		return option, fmt.Errorf("--legacy-key %q: it must have %s once", o.key, userField)
	}
	if option, err = rueidis.ParseURL(url); err != nil {
		return option, fmt.Errorf("--legacy-redis: %w", err)
	}
	option.DisableCache, option.AlwaysRESP2, option.DisableRetry = true, true, true // works with every version
	return option, nil
}

// matches returns an error if no key is a user's.
func (o *Old) matches(ctx context.Context, client rueidis.Client) error {
	_, err := o.walk(ctx, client, func(string) error { return errFound })
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

var (
	errAway  = errors.New("the old store has not answered yet, or has no key that matches")
	errFound = errors.New("found")
	errType  = errors.New("it is neither zset, set nor list")
)

// read returns a user's history, newest first where the type of the key tells (a list has its newest item
// first, as LPUSH leaves it). All types are asked in one pipeline: two of three answers are errors.
func (o *Old) read(ctx context.Context, user string) ([]trace.Exposure, error) {
	client := o.client.Load()
	if client == nil {
		return nil, errAway
	}
	key, b := strings.Replace(o.key, userField, user, 1), (*client).B()
	answers := (*client).DoMulti(ctx, b.Zrange().Key(key).Min("0").Max("-1").Rev().Withscores().Build(),
		b.Smembers().Key(key).Build(), b.Lrange().Key(key).Start(0).Stop(-1).Build())
	scores, noZset := answers[0].AsZScores()
	set, noSet := answers[1].AsStrSlice()
	list, err := answers[2].AsStrSlice()
	if noZset != nil && noSet != nil && err != nil {
		if e, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(e.Error(), "WRONGTYPE") {
			err = errType
		}
		return nil, fmt.Errorf("old store, key %q: %w", key, err)
	}
	var out []trace.Exposure
	for _, z := range scores {
		out = append(out, trace.Exposure{ID: z.Member, At: scoreTime(z.Score)})
	}
	for _, id := range append(set, list...) {
		out = append(out, trace.Exposure{ID: id})
	}
	return out, nil
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

// walked is what a walk over the keys that match has met.
type walked struct {
	users, foreign int
	names          []string // of some foreign keys
}

func (w walked) String() string {
	return fmt.Sprintf("%d users, %d foreign keys %s", w.users, w.foreign, strings.Join(w.names, ", "))
}

// walk calls use with every user. A key of another type, or of what is no user id, is foreign.
func (o *Old) walk(ctx context.Context, client rueidis.Client, use func(user string) error) (w walked, err error) {
	before, after, _ := strings.Cut(o.key, userField)
	err = Scan(ctx, client, Pattern(before)+"*"+Pattern(after), func(keys []string) error {
		types := make(rueidis.Commands, len(keys))
		for i, key := range keys {
			types[i] = client.B().Type().Key(key).Build()
		}
		for i, result := range client.DoMulti(ctx, types...) {
			kind, err := result.ToString()
			if err != nil {
				return fmt.Errorf("old store: %w", err)
			}
			user := strings.TrimSuffix(strings.TrimPrefix(keys[i], before), after)
			if !slices.Contains([]string{"zset", "set", "list"}, kind) || wire.CheckName("user", user, true) != nil {
				if w.foreign++; len(w.names) < 5 {
					w.names = append(w.names, fmt.Sprintf("%.80q (%s)", keys[i], kind))
				}
				continue
			}
			w.users++
			if err := use(user); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && w.users == 0 {
		err = fmt.Errorf("--legacy-key %s: no ZSET, SET or LIST of the old store has such a key", o.key)
	}
	return w, err
}

// DryRun prints what the import would take: five users, and how many there are.
func DryRun(ctx context.Context, url, key string, out io.Writer) error {
	o := &Old{key: key}
	option, err := o.options(url)
	if err != nil {
		return err
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		return fmt.Errorf("--legacy-redis: %w", err)
	}
	defer client.Close()
	o.client.Store(&client)
	shown := 0
	w, err := o.walk(ctx, client, func(user string) error {
		if shown++; shown > 5 {
			return nil
		}
		history, err := o.read(ctx, user)
		if err == nil && len(history) > 0 {
			at := "no time"
			if !history[0].At.IsZero() {
				at = history[0].At.Format(time.RFC3339)
			}
			_, err = fmt.Fprintf(out, "user %q: %d items, first %q (%s)\n", user, len(history), history[0].ID, at)
		}
		return err
	})
	fmt.Fprintln(out, w)
	return err
}

// ImportAll imports every user of the old store, or tries until the context ends. After a failure it begins
// again: a user who is imported is passed quickly.
func (o *Old) ImportAll(ctx context.Context) {
	for {
		w, err := o.importAll(ctx)
		if err == nil {
			o.Logger.InfoContext(ctx, "exposure: all users of the old store are imported", "walked", w.String())
			return
		}
		if wait.For(ctx, 10*time.Second) != nil {
			return
		}
		o.Logger.WarnContext(ctx, "exposure: the import from the old store begins again", "walked", w.String(),
			"err", err)
	}
}

func (o *Old) importAll(ctx context.Context) (w walked, err error) {
	client := o.client.Load()
	if client == nil {
		return w, errAway
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(importers)
	w, err = o.walk(ctx, *client, func(user string) error {
		work.Go(func() error { return o.importUser(ctx, user) })
		return ctx.Err()
	})
	return w, errors.Join(work.Wait(), err)
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
