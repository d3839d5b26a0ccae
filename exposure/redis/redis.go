package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/zeebo/xxh3"

	"jianguo/exposure/state"
	"jianguo/internal/wrap"
)

// Partitions is the number of parts that users are divided into.
const Partitions = 16

// PartitionOf is the partition of a user.
func PartitionOf(user string) int { return int(xxh3.HashString(user) % Partitions) }

var (
	// ErrFenced is returned to an owner that is no longer one.
	ErrFenced = errors.New("exposure: another service has taken over these users")
	// ErrAway is wrapped by errors of a Redis that does not answer, or has lost what it held.
	ErrAway = errors.New("exposure: the Redis of users' histories is not available")
)

// Version orders the states of a record.
type Version struct{ Epoch, Seq uint64 }

func (v Version) String() string { return fmt.Sprintf("%016x%016x", v.Epoch, v.Seq) }

func parseVersion(s string) (v Version, err error) {
	_, err = fmt.Sscanf(s, "%16x%16x", &v.Epoch, &v.Seq)
	if err == nil && v.String() != s {
		err = errors.New("exposure: a version has 32 digits")
	}
	return v, err
}

// Record is a user in one history.
type Record struct {
	Version Version // zero: there is no record; the highest: Stored is none
	Stored  string  // the version as Redis has it
	Head    []byte  // nil: nothing is remembered
	Shards  map[int64][]byte
	Others  []string // fields that are none of a record, and Aside
}

// State decodes a record of an address with all its shards.
func (r *Record) State(addr state.Address) (*state.State, error) {
	if r.Head == nil {
		return new(state.State), nil
	}
	st, err := state.DecodeHead(r.Head, addr)
	if err != nil {
		return nil, err
	}
	shards := st.Shards()
	for i := range shards {
		if err := state.DecodeShard(r.Shards[shards[i].ID()], &shards[i]); err != nil {
			return nil, err
		}
	}
	return st, nil
}

const (
	// Aside is the field that keeps, as DUMP gives it, what stood under the key and could not be read; and a write that
	// does this.
	Aside = "aside"
	// Over is a write over what no owner has written: a version that may be later than the new one.
	Over = "over"
)

// Write is a record's new state. Of its shards it has those that changed.
type Write struct {
	state.Address
	Record
	Found string        // the version that the new state was made of, as Redis has it
	Freed []int64       // shards that are no longer needed
	May   string        // Over, Aside, or neither
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
func (r *Conn) Name(a state.Address) string { return r.Prefix + ":{" + a.User + "}:" + a.History }

func (r *Conn) part(p int) string { return r.Prefix + ":part:" + strconv.Itoa(p) }

// Ask asks for the version of a record, and does not wait. The caller calls answer: the version as it is stored, ""
// where there is no record.
func (r *Conn) Ask(ctx context.Context, addr state.Address) (answer func() (string, error)) {
	stream := r.Client.DoStream(ctx, r.Client.B().Hget().Key(r.Name(addr)).Field("v").Build())
	return func() (string, error) {
		var s strings.Builder
		_, err := stream.WriteTo(&s)
		if rueidis.IsRedisNil(err) {
			return "", nil
		}
		return s.String(), err
	}
}

// parseRecord makes a record of the fields of a hash and their values.
func parseRecord(fields []string) *Record {
	rec := &Record{Shards: map[int64][]byte{}}
	for i := 0; i+1 < len(fields); i += 2 {
		switch name, value := fields[i], fields[i+1]; {
		case name == "v" && value != "":
			var err error
			if rec.Version, err = parseVersion(value); err != nil {
				rec.Version = Version{math.MaxUint64, math.MaxUint64}
			}
			rec.Stored = value
		case name == "h" && value != "":
			rec.Head = []byte(value)
		case name != "v" && name != "h":
			if id, err := strconv.ParseInt(name, 10, 64); err == nil {
				rec.Shards[id] = []byte(value)
			} else {
				rec.Others = append(rec.Others, name)
			}
		}
	}
	return rec
}

// Found is a record as Redis has it, or why that is none: an error that wraps ErrCorrupt.
type Found struct {
	state.Address
	*Record // without anything: it has expired meanwhile
	Err     error
}

// noHash is what stands for the version of a key of another type.
const noHash = "WRONGTYPE"

// Read reads records in one pipeline, in the order of their addresses; with headsOnly without their shards.
func (r *Conn) Read(ctx context.Context, headsOnly bool, addrs ...state.Address) ([]Found, error) {
	commands := make(rueidis.Commands, len(addrs))
	for i, addr := range addrs {
		if commands[i] = r.Client.B().Hgetall().Key(r.Name(addr)).Build(); headsOnly {
			commands[i] = r.Client.B().Hmget().Key(r.Name(addr)).Field("v", "h").Build()
		}
	}
	out := make([]Found, len(addrs))
	for i, result := range r.Client.DoMulti(ctx, commands...) {
		fields, err := result.AsStrSlice() // "" for one that is missing: none is empty
		if headsOnly && err == nil {
			fields = []string{"v", fields[0], "h", fields[1]}
		}
		out[i] = Found{Address: addrs[i], Record: parseRecord(fields)}
		if bad, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(bad.Error(), noHash) {
			out[i].Stored, out[i].Err = noHash, fmt.Errorf("exposure: the key is no hash: %w", state.ErrCorrupt)
		} else if err != nil {
			return nil, fmt.Errorf("%w: read: %w", ErrAway, err)
		}
	}
	return out, nil
}

// Get returns a record.
func (r *Conn) Get(ctx context.Context, addr state.Address) (*Record, error) {
	found, err := r.Read(ctx, false, addr)
	if err != nil {
		return nil, err
	}
	return found[0].Record, found[0].Err
}

// putScript takes version, milliseconds, head, what may be written over, version found, number of freed shards, these,
// and then numbers and bytes of shards. It writes over the version found, or over its own, where it is repeated, and,
// unless told, over no later one.
var putScript = rueidis.NewLuaScriptNoShaRetryable(`
local have = redis.pcall('HGET', KEYS[1], 'v')
if type(have) == 'table' then
	if string.sub(have.err, 1, 9) ~= 'WRONGTYPE' then return have end
	have = 'WRONGTYPE'
end
have = have or ''
local found, aside = have == ARGV[5], false
if found and ARGV[4] == 'aside' then
	aside = redis.call('DUMP', KEYS[1])
elseif not found and have ~= ARGV[1] or have > ARGV[1] and not (found and ARGV[4] == 'over') then
	return 0
end
local freed = tonumber(ARGV[6])
if ARGV[3] == '' or aside then redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], 'v', ARGV[1])
if ARGV[3] ~= '' then
	redis.call('HSET', KEYS[1], 'h', ARGV[3])
	for i = 7, 6 + freed do redis.call('HDEL', KEYS[1], ARGV[i]) end
	for i = 7 + freed, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i+1]) end
	if aside then redis.call('HSET', KEYS[1], 'aside', aside) end
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)

// Keep lets records stay for their TTL, if they would go earlier.
func (r *Conn) Keep(ctx context.Context, records []Write) (err error) {
	commands := make(rueidis.Commands, len(records))
	for i, w := range records {
		commands[i] = r.Client.B().Pexpire().Key(r.Name(w.Address)).Milliseconds(w.TTL.Milliseconds()).Gt().Build()
	}
	for _, result := range r.Client.DoMulti(ctx, commands...) {
		err = errors.Join(err, result.Error())
	}
	return wrap.Err(err, "exposure: keep records in Redis")
}

// Put writes records, each as a whole. It returns ErrFenced if one is no longer of the version found, or that is a
// later one.
func (r *Conn) Put(ctx context.Context, writes []Write) error {
	calls := make([]rueidis.LuaExec, len(writes))
	for i, w := range writes {
		args := []string{w.Version.String(), strconv.FormatInt(max(w.TTL, time.Second).Milliseconds(), 10),
			rueidis.BinaryString(w.Head), w.May, w.Found, strconv.Itoa(len(w.Freed))}
		for _, id := range w.Freed {
			args = append(args, strconv.FormatInt(id, 10))
		}
		for id, b := range w.Shards {
			args = append(args, strconv.FormatInt(id, 10), rueidis.BinaryString(b))
		}
		calls[i] = rueidis.LuaExec{Keys: []string{r.Name(w.Address)}, Args: args}
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
