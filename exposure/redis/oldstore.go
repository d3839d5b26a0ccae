package redis

import (
	"context"
	"errors"
	"fmt"
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

// connect begins to connect to a Redis or a Redis Cluster.
func (o *Old) connect(ctx context.Context, url string) error {
	if strings.Count(o.key, userField) != 1 {
		return fmt.Errorf("--legacy-key %q: it must have %s once", o.key, userField)
	}
	option, err := rueidis.ParseURL(url)
	if err != nil {
		return fmt.Errorf("--legacy-redis: %w", err)
	}
	option.DisableCache, option.AlwaysRESP2, option.DisableRetry = true, true, true // works with every version
	go func() {
		for ctx.Err() == nil {
			client, err := rueidis.NewClient(option)
			if err == nil {
				o.client.Store(&client)
				return
			}
			o.Logger.WarnContext(ctx, "exposure: no connection to the old store yet", "err", err)
			_ = wait.For(ctx, time.Second)
		}
	}()
	return nil
}

var (
	errAway = errors.New("the old store has not answered yet")
	errType = errors.New("it is neither zset, set nor list")
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

// ImportAll imports every user of the old store, or tries until the context ends. After a failure it begins
// again: a user who is imported is passed quickly.
func (o *Old) ImportAll(ctx context.Context) {
	for {
		users, err := o.importAll(ctx)
		if err == nil {
			o.Logger.InfoContext(ctx, "exposure: all users of the old store are imported", "users", users)
			return
		}
		if wait.For(ctx, 10*time.Second) != nil {
			return
		}
		o.Logger.WarnContext(ctx, "exposure: the import from the old store begins again", "users", users, "err", err)
	}
}

func (o *Old) importAll(ctx context.Context) (users int, err error) {
	client := o.client.Load()
	if client == nil {
		return 0, errAway
	}
	before, after, _ := strings.Cut(o.key, userField)
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(importers)
	err = Scan(ctx, *client, Pattern(before)+"*"+Pattern(after), func(keys []string) error {
		for _, key := range keys {
			user := strings.TrimSuffix(strings.TrimPrefix(key, before), after)
			work.Go(func() error {
				err := o.importUser(ctx, user, nil, errAway)
				if _, invalid := errors.AsType[*wire.Error](err); invalid || errors.Is(err, errType) {
					o.Logger.WarnContext(ctx, "exposure: a user of the old store cannot be imported", "err", err)
					return nil
				}
				return err
			})
		}
		users += len(keys)
		return ctx.Err()
	})
	return users, errors.Join(work.Wait(), err)
}
