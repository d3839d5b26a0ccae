package importer

import (
	"context"
	"errors"
	"fmt"

	"jianguo/exposure/trace"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// connect begins to connect to a Redis or a Redis Cluster.
func (o *Old) connect(ctx context.Context, url string) error {
	if strings.Count(o.key, UserField) != 1 {
		return fmt.Errorf("--legacy-key %q: it must have %s once", o.key, UserField)
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
			time.Sleep(time.Second)
		}
	}()
	return nil
}

var errAway = errors.New("the old store has not answered yet")

// read returns a user's history, oldest first where the type of the key tells (a list has its newest item
// first, as LPUSH leaves it). All types are asked in one pipeline: two of three answers are errors.
func (o *Old) read(ctx context.Context, user string) ([]trace.Exposure, error) {
	client := o.client.Load()
	if client == nil {
		return nil, errAway
	}
	key, b := strings.Replace(o.key, UserField, user, 1), (*client).B()
	answers := (*client).DoMulti(ctx, b.Zrange().Key(key).Min("0").Max("-1").Withscores().Build(),
		b.Smembers().Key(key).Build(), b.Lrange().Key(key).Start(0).Stop(-1).Build())
	scores, noZset := answers[0].AsZScores()
	set, noSet := answers[1].AsStrSlice()
	list, err := answers[2].AsStrSlice()
	if noZset != nil && noSet != nil && err != nil {
		return nil, fmt.Errorf("old store, key %q: neither zset, set nor list: %w", key, err)
	}
	var out []trace.Exposure
	for _, z := range scores {
		out = append(out, trace.Exposure{ID: z.Member, At: scoreTime(z.Score)})
	}
	slices.Reverse(list)
	for _, id := range append(set, list...) {
		out = append(out, trace.Exposure{ID: id})
	}
	return out, nil
}
