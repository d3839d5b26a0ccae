package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"jianguo/exposure/state"
	"jianguo/exposure/trace"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// UserField stands for the user in a pattern of keys.
const UserField = "{user}"

// Redis is an old store with one key a user, on one server or a Redis Cluster.
type Redis struct {
	URL    string // redis://[user:password@]host:port/db, rediss: with TLS
	Key    string // as seen:{user}
	Type   string // zset, set, list or auto: each key is asked
	Score  string // of a ZSET: seconds, milliseconds, none, or auto: by its size
	Oldest bool   // a list has its oldest item first; LPUSH puts the newest there
	Kind   state.EventKind
	Newest int // how many exposures of a user are read, at most: the newest, where a type tells
}

// scanCount is how many keys a page has, about.
const scanCount = 128

// nodePosition is how far the keys of a node have been read.
type nodePosition struct {
	Cursor uint64 `json:"cursor"`
	Done   bool   `json:"done"`
}

// Pages calls each with one page after the other, beginning at a position that an earlier page had; "" is the
// beginning. A position is the cursor of each node, which Redis allows to be
// used at any later time: a key that is there all the while is returned.
func (r *Redis) Pages(ctx context.Context, position string, each func(Page) error) error {
	before, after, ok := strings.Cut(r.Key, UserField)
	if !ok || strings.Contains(after, UserField) {
		return fmt.Errorf("--key %q: it must have %s once", r.Key, UserField)
	}
	nodes := map[string]nodePosition{}
	if position != "" {
		if err := json.Unmarshal([]byte(position), &nodes); err != nil {
			return fmt.Errorf("the resume file is not one of an import from Redis: %w", err)
		}
	}
	option, err := rueidis.ParseURL(r.URL)
	if err != nil {
		return fmt.Errorf("--redis: %w", err)
	}
	option.DisableCache, option.AlwaysRESP2 = true, true // works with every version
	client, err := rueidis.NewClient(option)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	defer client.Close()
	masters, total, err := masters(ctx, client)
	if err != nil {
		return err
	}
	s := &scan{Redis: r, client: client, before: before, after: after, total: total}
	for _, name := range slices.Sorted(maps.Keys(masters)) {
		if err := s.node(ctx, masters[name], nodes, name, each); err != nil {
			return fmt.Errorf("redis %s: %w", name, err)
		}
	}
	return nil
}

// masters are the nodes that own keys, and how many keys they have in all.
func masters(ctx context.Context, client rueidis.Client) (map[string]rueidis.Client, int64, error) {
	nodes, total := map[string]rueidis.Client{}, int64(0)
	for name, node := range client.Nodes() {
		role, err := node.Do(ctx, node.B().Role().Build()).ToArray()
		if err != nil || len(role) == 0 {
			return nil, 0, fmt.Errorf("redis %s: %w", name, err)
		}
		if kind, _ := role[0].ToString(); kind != "master" && len(client.Nodes()) > 1 {
			continue
		}
		n, err := node.Do(ctx, node.B().Dbsize().Build()).AsInt64()
		if err != nil {
			return nil, 0, fmt.Errorf("redis %s: %w", name, err)
		}
		nodes[name], total = node, total+n
	}
	return nodes, total, nil
}

// scan is a pass over all keys.
type scan struct {
	*Redis
	client        rueidis.Client
	before, after string
	done, total   int64
}

// node reads the keys of a node from its position on.
func (s *scan) node(ctx context.Context, node rueidis.Client, nodes map[string]nodePosition, name string,
	each func(Page) error) error {
	pattern := escape(s.before) + "*" + escape(s.after)
	at := nodes[name]
	for !at.Done {
		scan := node.B().Scan().Cursor(at.Cursor).Match(pattern).Count(scanCount).Build()
		page, err := node.Do(ctx, scan).AsScanEntry()
		if err != nil {
			return err
		}
		users, err := s.users(ctx, page.Elements)
		if err != nil {
			return err
		}
		at = nodePosition{page.Cursor, page.Cursor == 0}
		nodes[name] = at
		position, err := json.Marshal(nodes)
		if err != nil {
			return err
		}
		s.done = min(s.done+scanCount, s.total) // SCAN passes so many keys, of which some match
		if err := each(Page{Users: users, Position: string(position), Done: s.done, Total: s.total}); err != nil {
			return err
		}
	}
	return nil
}

// escape quotes what a glob pattern of Redis treats specially.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}

// users reads the histories of keys.
func (s *scan) users(ctx context.Context, keys []string) ([]User, error) {
	types, err := s.types(ctx, keys)
	if err != nil {
		return nil, err
	}
	var commands rueidis.Commands
	var of []int // the keys that the commands are about
	b := s.client.B()
	for i, key := range keys {
		switch types[i] {
		case "zset":
			newest := fmt.Sprint(s.Newest - 1)
			commands = append(commands, b.Zcard().Key(key).Build(),
				b.Zrange().Key(key).Min("0").Max(newest).Rev().Withscores().Build())
		case "set":
			commands = append(commands, b.Scard().Key(key).Build(), b.Smembers().Key(key).Build())
		case "list":
			from, to := int64(0), int64(s.Newest-1)
			if s.Oldest {
				from, to = int64(-s.Newest), -1
			}
			commands = append(commands, b.Llen().Key(key).Build(), b.Lrange().Key(key).Start(from).Stop(to).Build())
		case "none": // it expired meanwhile
			continue
		default:
			return nil, fmt.Errorf("key %q is a %s: only zset, set and list can be imported", key, types[i])
		}
		of = append(of, i)
	}
	results := s.client.DoMulti(ctx, commands...)
	var users []User
	for i, number := range of {
		key := keys[number]
		u := User{Name: strings.TrimSuffix(strings.TrimPrefix(key, s.before), s.after), Kind: s.Kind}
		if err := s.read(&u, types[number], results[2*i], results[2*i+1]); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		if u.Held > 0 {
			users = append(users, u)
		}
	}
	return users, nil
}

// types are the types of keys.
func (s *scan) types(ctx context.Context, keys []string) ([]string, error) {
	types := slices.Repeat([]string{s.Type}, len(keys))
	if s.Type != "auto" {
		return types, nil
	}
	var commands rueidis.Commands
	for _, key := range keys {
		commands = append(commands, s.client.B().Type().Key(key).Build())
	}
	for i, result := range s.client.DoMulti(ctx, commands...) {
		var err error
		if types[i], err = result.ToString(); err != nil {
			return nil, fmt.Errorf("key %q: %w", keys[i], err)
		}
	}
	return types, nil
}

// read fills in a user from the answers for one key.
func (s *scan) read(u *User, kind string, held, content rueidis.RedisResult) error {
	n, err := held.AsInt64()
	if err != nil {
		return wrongType(err, kind)
	}
	u.Held = int(n)
	if kind == "zset" {
		scores, err := content.AsZScores()
		for _, z := range scores {
			u.Exposures = append(u.Exposures, trace.Exposure{ID: z.Member, At: s.time(z.Score)})
		}
		return err
	}
	items, err := content.AsStrSlice()
	if err != nil {
		return err
	}
	if kind == "list" && s.Oldest {
		slices.Reverse(items)
	}
	for _, id := range items {
		u.Exposures = append(u.Exposures, trace.Exposure{ID: id})
	}
	return nil
}

func wrongType(err error, want string) error {
	if e, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(e.Error(), "WRONGTYPE") {
		return errors.New("it is no " + want + ": leave out --type, and each key is asked for its own")
	}
	return err
}

// time is the time of a score, zero where it is none.
func (s *scan) time(score float64) time.Time {
	switch s.Score {
	case "seconds":
		return time.UnixMilli(int64(score * 1000))
	case "milliseconds":
		return time.UnixMilli(int64(score))
	case "auto":
		return scoreTime(score)
	}
	return time.Time{}
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
