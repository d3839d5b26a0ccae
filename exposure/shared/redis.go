package shared

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/zeebo/xxh3"
)

// Partitions is the number of parts that users are divided into.
const Partitions = 16

// PartitionOf is the partition of a user.
func PartitionOf(user string) int { return int(xxh3.HashString(user) % Partitions) }

// ErrFenced is returned to an owner that is no longer one.
var ErrFenced = errors.New("exposure: another service has taken over these users")

// Version orders the states of a record.
type Version struct{ Epoch, Seq uint64 }

func (v Version) String() string { return fmt.Sprintf("%016x%016x", v.Epoch, v.Seq) }

// Less reports whether a version is earlier than another.
func (v Version) Less(w Version) bool {
	return v.Epoch < w.Epoch || v.Epoch == w.Epoch && v.Seq < w.Seq
}

func parseVersion(s string) (v Version, err error) {
	if len(s) != 32 {
		return v, fmt.Errorf("exposure: version %q has not 32 digits", s)
	}
	v.Epoch, err = strconv.ParseUint(s[:16], 16, 64)
	if err == nil {
		v.Seq, err = strconv.ParseUint(s[16:], 16, 64)
	}
	return v, err
}

// Key names a record.
type Key struct{ History, User string }

// Record is a user in one history.
type Record struct {
	Version Version // zero: there is no record
	Head    []byte  // nil: nothing is remembered
	Shards  map[int64][]byte
}

// Write is a record's new state. Of its shards it has those that changed.
type Write struct {
	Key
	Record
	Freed []int64       // shards that are no longer needed
	Bad   []byte        // a head that could not be read
	TTL   time.Duration // until nothing of it is remembered
}

// Redis is a connection to a server or a cluster. All methods may be called from any goroutine.
type Redis struct {
	Client rueidis.Client
	Prefix string // of all keys
}

// Open connects to redis://HOST[:PORT][,HOST...][/DB], or rediss:// with TLS; one of the hosts of a cluster is enough.
// Keys begin with the prefix.
func Open(address, prefix string) (*Redis, error) {
	option, err := rueidis.ParseURL(seeds(address))
	if err != nil {
		return nil, fmt.Errorf("exposure: %w", redact(err, address))
	}
	option.DisableCache, option.AlwaysRESP2 = true, true // works with every server
	option.ConnWriteTimeout = 5 * time.Second
	option.ClusterOption.ShardsRefreshInterval = time.Second
	client, err := rueidis.NewClient(option)
	if err != nil {
		return nil, fmt.Errorf("exposure: connect to Redis: %w", err)
	}
	return &Redis{Client: client, Prefix: prefix}, nil
}

// seeds writes all hosts but the first one as rueidis expects them.
func seeds(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	hosts := strings.Split(rest[:end], ",")
	out := scheme + "://" + hosts[0] + rest[end:]
	for i, host := range hosts[1:] {
		separator := "&"
		if i == 0 && !strings.Contains(rest[end:], "?") {
			separator = "?"
		}
		out += separator + "addr=" + url.QueryEscape(host)
	}
	return out
}

// redact removes a password from an error that repeats the address.
func redact(err error, address string) error {
	if strings.Contains(address, "@") {
		return errors.New("the address of the Redis cannot be read; it has the form redis://[USER:PASSWORD@]HOST[:PORT][,HOST...][/DB]")
	}
	return err
}

// Close closes the connection.
func (r *Redis) Close() { r.Client.Close() }

func (r *Redis) key(k Key) string { return r.Prefix + ":{" + k.User + "}:" + k.History }

func (r *Redis) part(p int) string { return r.Prefix + ":part:" + strconv.Itoa(p) }

// script runs in Redis. All are idempotent, so that they may be repeated.
type script struct{ text, sum string }

func newScript(text string) script {
	sum := sha1.Sum([]byte(text))
	return script{text, hex.EncodeToString(sum[:])}
}

// call is a run of a script on one key.
type call struct {
	key  string
	args []string
}

// run runs a script on several keys in one pipeline, and again where a server did not know it.
func (r *Redis) run(ctx context.Context, s script, calls ...call) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(calls))
	for i, c := range calls {
		commands[i] = r.Client.B().Evalsha().Sha1(s.sum).Numkeys(1).Key(c.key).Arg(c.args...).Build().ToRetryable()
	}
	results := r.Client.DoMulti(ctx, commands...)
	for i, c := range calls {
		if err, ok := rueidis.IsRedisErr(results[i].Error()); ok && err.IsNoScript() {
			results[i] = r.Client.Do(ctx, r.Client.B().Eval().Script(s.text).Numkeys(1).Key(c.key).Arg(c.args...).Build().ToRetryable())
		}
	}
	return results
}

var getScript = newScript(`
local v = redis.call('HGET', KEYS[1], 'v')
if not v then return {} end
if v == ARGV[1] then return {v} end
return redis.call('HGETALL', KEYS[1])`)

// Get returns a record, or nil if the version that the caller has is the current one.
func (r *Redis) Get(ctx context.Context, k Key, have Version) (*Record, error) {
	fields, err := r.run(ctx, getScript, call{r.key(k), []string{have.String()}})[0].AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("exposure: read from Redis: %w", err)
	}
	switch {
	case len(fields) == 1, len(fields) == 0 && have == Version{}:
		return nil, nil
	case len(fields) == 0:
		return new(Record), nil
	}
	rec := &Record{Shards: map[int64][]byte{}}
	for i := 0; i+1 < len(fields); i += 2 {
		if err := rec.set(fields[i], fields[i+1]); err != nil {
			return nil, fmt.Errorf("exposure: record in Redis: field %.20q: %w", fields[i], err)
		}
	}
	return rec, nil
}

// set fills in a field.
func (rec *Record) set(name, value string) (err error) {
	switch name {
	case "v":
		rec.Version, err = parseVersion(value)
	case "h":
		rec.Head = []byte(value)
	case "bad":
	default:
		var id int64
		if id, err = strconv.ParseInt(name, 10, 64); err == nil {
			rec.Shards[id] = []byte(value)
		}
	}
	return err
}

// Heads returns records without their shards, in the order of the keys.
func (r *Redis) Heads(ctx context.Context, keys []Key) ([]Record, error) {
	commands := make(rueidis.Commands, len(keys))
	for i, k := range keys {
		commands[i] = r.Client.B().Hmget().Key(r.key(k)).Field("v", "h").Build()
	}
	out := make([]Record, len(keys))
	for i, result := range r.Client.DoMulti(ctx, commands...) {
		fields, err := result.AsStrSlice() // "" for one that is missing: none is empty
		if err == nil && fields[0] != "" {
			out[i].Version, err = parseVersion(fields[0])
		}
		if err != nil {
			return nil, fmt.Errorf("exposure: read from Redis: %w", err)
		}
		if fields[1] != "" {
			out[i].Head = []byte(fields[1])
		}
	}
	return out, nil
}

// Shards returns shards of a record, nil for one that it does not have. It returns ErrFenced if the record is
// no longer of the version that its head had: its shards do not fit that head.
func (r *Redis) Shards(ctx context.Context, k Key, of Version, ids []int64) ([][]byte, error) {
	names := []string{"v"}
	for _, id := range ids {
		names = append(names, strconv.FormatInt(id, 10))
	}
	values, err := r.Client.Do(ctx, r.Client.B().Hmget().Key(r.key(k)).Field(names...).Build()).AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("exposure: read shards from Redis: %w", err)
	}
	if values[0] != of.String() {
		return nil, ErrFenced
	}
	out := make([][]byte, len(ids))
	for i, value := range values[1:] {
		if value != "" {
			out[i] = []byte(value)
		}
	}
	return out, nil
}

// putScript takes version, milliseconds, head, bad head, number of freed shards, these, and then numbers and bytes of shards.
var putScript = newScript(`
local have = redis.call('HGET', KEYS[1], 'v')
if have and have > ARGV[1] then return 0 end
local freed = tonumber(ARGV[5])
if ARGV[3] == '' then
	redis.call('DEL', KEYS[1])
	redis.call('HSET', KEYS[1], 'v', ARGV[1])
else
	redis.call('HSET', KEYS[1], 'v', ARGV[1], 'h', ARGV[3])
	for i = 6, 5 + freed do redis.call('HDEL', KEYS[1], ARGV[i]) end
	for i = 6 + freed, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i+1]) end
end
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'bad', ARGV[4]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)

// Put writes records, each as a whole. It returns ErrFenced if one has a later version already.
func (r *Redis) Put(ctx context.Context, writes []Write) error {
	calls := make([]call, len(writes))
	for i, w := range writes {
		args := []string{w.Version.String(), strconv.FormatInt(max(w.TTL, time.Second).Milliseconds(), 10),
			rueidis.BinaryString(w.Head), rueidis.BinaryString(w.Bad), strconv.Itoa(len(w.Freed))}
		for _, id := range w.Freed {
			args = append(args, strconv.FormatInt(id, 10))
		}
		for id, b := range w.Shards {
			args = append(args, strconv.FormatInt(id, 10), rueidis.BinaryString(b))
		}
		calls[i] = call{r.key(w.Key), args}
	}
	var failed error
	for _, result := range r.run(ctx, putScript, calls...) {
		done, err := result.AsInt64()
		switch {
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("exposure: write to Redis: %w", err))
		case done == 0:
			failed = errors.Join(failed, ErrFenced)
		}
	}
	return failed
}
