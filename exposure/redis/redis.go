package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
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

// KeyOf makes a key of its parts.
func KeyOf(history, user string) Key { return Key{history, user} }

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
	Found Version       // that the new state was made of
	Freed []int64       // shards that are no longer needed
	Anew  bool          // the record found could not be read: all of it goes
	TTL   time.Duration // until nothing of it is remembered
}

// Conn is a connection to a server or a cluster. All methods may be called from any goroutine.
type Conn struct {
	Client rueidis.Client
	Prefix string // of all keys
}

// Open connects to redis://[USER:PASSWORD@]HOST[:PORT][/DB][?addr=HOST:PORT...]; one of the hosts of a cluster is
// enough.
// rediss:// is with TLS, and takes files in PEM: ?ca=FILE, the authority of the servers, and &cert=FILE&key=FILE to
// show them. Keys begin with the prefix.
func Open(address, prefix string) (*Conn, error) {
	option, err := rueidis.ParseURL(address)
	if err != nil { // which may repeat a password
		return nil, errors.New("exposure: the address of the Redis cannot be read; " +
			"it has the form redis://[USER:PASSWORD@]HOST[:PORT][/DB][?addr=HOST:PORT]")
	}
	u, _ := url.Parse(address)
	if err := trust(option.TLSConfig, u.Query()); err != nil {
		return nil, fmt.Errorf("exposure: connect to Redis: %w", err)
	}
	option.DisableCache, option.AlwaysRESP2 = true, true // works with every server
	option.ConnWriteTimeout = 5 * time.Second
	option.BlockingPoolSize = 128 // of Ask
	option.ReadBufferEachConn, option.WriteBufferEachConn = 64<<10, 64<<10
	option.ClusterOption.ShardsRefreshInterval = time.Second
	client, err := rueidis.NewClient(option)
	if err != nil {
		return nil, fmt.Errorf("exposure: connect to Redis: %w", err)
	}
	return &Conn{Client: client, Prefix: prefix}, nil
}

// trust reads the files that an address names. Each server shows a certificate for the name it is reached by.
func trust(c *tls.Config, q url.Values) (err error) {
	if c == nil && (q.Has("ca") || q.Has("cert")) {
		return errors.New("ca and cert are for rediss://")
	}
	if c == nil {
		return nil
	}
	c.ServerName = ""
	if file := q.Get("ca"); file != "" {
		pem, err := os.ReadFile(file)
		if c.RootCAs = x509.NewCertPool(); err != nil || !c.RootCAs.AppendCertsFromPEM(pem) {
			return cmp.Or(err, fmt.Errorf("%s holds no certificate", file))
		}
	}
	if q.Has("cert") {
		c.Certificates = make([]tls.Certificate, 1)
		c.Certificates[0], err = tls.LoadX509KeyPair(q.Get("cert"), q.Get("key"))
	}
	return err
}

// Close closes the connection.
func (r *Conn) Close() { r.Client.Close() }

// Name is the name of a record's key.
func (r *Conn) Name(k Key) string { return r.Prefix + ":{" + k.User + "}:" + k.History }

func (r *Conn) part(p int) string { return r.Prefix + ":part:" + strconv.Itoa(p) }

// Asked is a question to Redis whose answer is on its way.
type Asked struct{ stream rueidis.RedisResultStream }

// Ask asks for the version of a record, and does not wait. The caller reads the answer.
func (r *Conn) Ask(ctx context.Context, k Key) *Asked {
	return &Asked{r.Client.DoStream(ctx, r.Client.B().Hget().Key(r.Name(k)).Field("v").Build())}
}

// Version reads the answer, which is the zero version where there is no record.
func (a *Asked) Version() (Version, error) {
	var s strings.Builder
	_, err := a.stream.WriteTo(&s)
	if rueidis.IsRedisNil(err) {
		return Version{}, nil
	}
	if err != nil {
		return Version{}, err
	}
	return parseVersion(s.String())
}

// Get returns a record.
func (r *Conn) Get(ctx context.Context, k Key) (*Record, error) {
	fields, err := r.Client.Do(ctx, r.Client.B().Hgetall().Key(r.Name(k)).Build()).AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("exposure: read from Redis: %w", err)
	}
	return ParseRecord(fields)
}

// ParseRecord makes a record of the fields of a hash and their values.
func ParseRecord(fields []string) (*Record, error) {
	rec := &Record{Shards: map[int64][]byte{}}
	for i := 0; i+1 < len(fields); i += 2 {
		var err error
		switch name, value := fields[i], fields[i+1]; name {
		case "v":
			rec.Version, err = parseVersion(value)
		case "h":
			rec.Head = []byte(value)
		default:
			var id int64
			id, err = strconv.ParseInt(name, 10, 64)
			rec.Shards[id] = []byte(value)
		}
		if err != nil {
			return nil, fmt.Errorf("exposure: record in Redis: field %.20q: %w", fields[i], err)
		}
	}
	return rec, nil
}

// Heads returns records without their shards, in the order of the keys.
func (r *Conn) Heads(ctx context.Context, keys []Key) ([]Record, error) {
	commands := make(rueidis.Commands, len(keys))
	for i, k := range keys {
		commands[i] = r.Client.B().Hmget().Key(r.Name(k)).Field("v", "h").Build()
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

// putScript takes version, milliseconds, head, whether all that was goes, version found, number of freed shards,
// these, and then numbers and bytes of shards. It writes over the version found, or over its own, where it is
// repeated, and over no later one.
var putScript = rueidis.NewLuaScriptNoShaRetryable(`
local have = redis.call('HGET', KEYS[1], 'v') or '00000000000000000000000000000000'
if have ~= ARGV[5] and have ~= ARGV[1] or have > ARGV[1] then return 0 end
local freed = tonumber(ARGV[6])
if ARGV[3] == '' or ARGV[4] == 'true' then redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], 'v', ARGV[1])
if ARGV[3] ~= '' then
	redis.call('HSET', KEYS[1], 'h', ARGV[3])
	for i = 7, 6 + freed do redis.call('HDEL', KEYS[1], ARGV[i]) end
	for i = 7 + freed, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i+1]) end
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)

// Put writes records, each as a whole. It returns ErrFenced if one is no longer of the version found, or that is a
// later one.
func (r *Conn) Put(ctx context.Context, writes []Write) error {
	calls := make([]rueidis.LuaExec, len(writes))
	for i, w := range writes {
		args := []string{w.Version.String(), strconv.FormatInt(max(w.TTL, time.Second).Milliseconds(), 10),
			rueidis.BinaryString(w.Head), strconv.FormatBool(w.Anew), w.Found.String(), strconv.Itoa(len(w.Freed))}
		for _, id := range w.Freed {
			args = append(args, strconv.FormatInt(id, 10))
		}
		for id, b := range w.Shards {
			args = append(args, strconv.FormatInt(id, 10), rueidis.BinaryString(b))
		}
		calls[i] = rueidis.LuaExec{Keys: []string{r.Name(w.Key)}, Args: args}
	}
	var failed error
	for _, result := range putScript.ExecMulti(ctx, r.Client, calls...) {
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
