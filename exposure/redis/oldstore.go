package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"

	"jianguo/exposure/trace"
	"jianguo/exposure/wire"
	"jianguo/internal/wait"
)

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

// readInTurn reads for the import in the background: one user after the other, with rests as long as the reads, which
// leave the old store to others.
func (o *Old) readInTurn(ctx context.Context, user string) ([]trace.Exposure, error) {
	o.turn.Lock()
	defer o.turn.Unlock()
	started := time.Now()
	history, err := o.read(ctx, user)
	return history, cmp.Or(err, wait.For(ctx, time.Since(started)))
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
