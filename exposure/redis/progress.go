package redis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/redis/rueidis"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
	"jianguo/internal/streams"
	"jianguo/internal/wrap"
)

// Mark is where an owner begins.
type Mark struct {
	Epoch   uint64 // of the owner
	Base    uint64 // versions of earlier epochs count entries of another log
	Common  uint64 // or of a lost end of this one: entries up to this sequence are the same there
	Applied uint64 // sequence
}

// acquireScript takes the identity of the log and its last sequence. Numbers are hexadecimal digits, which
// compare as they are.
var acquireScript = rueidis.NewLuaScriptNoShaRetryable(`
local have, none = redis.call('HMGET', KEYS[1], 'epoch', 'base', 'log', 'applied', 'common'), '0000000000000000'
local epoch = string.format('%016x', tonumber(have[1] or '0', 16) + 1)
local base, applied, common = have[2] or epoch, have[4] or none, have[5] or none
if have[3] ~= ARGV[1] then
	base, applied, common = epoch, none, none
elseif applied > ARGV[2] then
	base, applied, common = epoch, ARGV[2], ARGV[2]
end
redis.call('HSET', KEYS[1], 'epoch', epoch, 'base', base, 'log', ARGV[1], 'applied', applied, 'common', common)
return {epoch, base, common, applied}`)

func digits(n uint64) string { return fmt.Sprintf("%016x", n) }

// Acquire makes the caller the owner of a partition of a log that has kept what was applied up to a sequence. It is not
// idempotent, but an epoch that nobody uses does no harm.
func (r *Conn) Acquire(ctx context.Context, p int, log string, last uint64) (m Mark, err error) {
	fields, err := acquireScript.Exec(ctx, r.Client, []string{r.part(p)}, []string{log, digits(last)}).AsStrSlice()
	if err == nil {
		_, err = fmt.Sscanf(strings.Join(fields, " "), "%x %x %x %x", &m.Epoch, &m.Base, &m.Common, &m.Applied)
	}
	return m, wrap.Err(err, "exposure: take partition %d in Redis", p)
}

var advanceScript = rueidis.NewLuaScriptNoShaRetryable(`
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'applied', ARGV[2], 'refused', ARGV[3], 'logged', ARGV[4])
return 1`)

// Advance stores how far the owner of an epoch has applied its partition, and why recent entries were refused, or
// returns ErrFenced.
func (r *Conn) Advance(ctx context.Context, p int, epoch uint64, at streams.Point, refused map[uint64]string) error {
	why, err := json.Marshal(refused)
	if err != nil {
		return err
	}
	args := []string{digits(epoch), digits(at.Seq), string(why), at.String()}
	done, err := advanceScript.Exec(ctx, r.Client, []string{r.part(p)}, args).AsInt64()
	if err == nil && done == 0 {
		return ErrFenced
	}
	return wrap.Err(err, "exposure: progress of partition %d to Redis", p)
}

// Progress is how far a partition has been applied.
type Progress struct {
	Log     string // identity of the log
	Epoch   string // of the owner
	Applied streams.Point
	Refused map[uint64]string // of recent entries: why they were not applied
}

// Progress reads how far a partition has been applied.
func (r *Conn) Progress(ctx context.Context, p int) (at Progress, err error) {
	get := r.Client.B().Hmget().Key(r.part(p)).Field("log", "applied", "refused", "epoch", "logged").Build()
	fields, err := r.Client.Do(ctx, get).AsStrSlice()
	if err != nil {
		return at, fmt.Errorf("%w: progress of partition %d: %v", ErrAway, p, err)
	}
	at.Log, at.Epoch = fields[0], fields[3]
	if fields[1] != "" {
		at.Applied.Seq, err = strconv.ParseUint(fields[1], 16, 64)
		at.Applied = streams.PointOf(at.Applied.Seq, fields[4])
	}
	if err == nil && fields[2] != "" {
		err = json.Unmarshal([]byte(fields[2]), &at.Refused)
	}
	return at, wrap.Err(err, "exposure: progress of partition %d from Redis", p)
}

var rewindScript = rueidis.NewLuaScriptNoShaRetryable(`
local epoch, none = redis.call('HGET', KEYS[1], 'epoch') or '', '0000000000000000'
if epoch < ARGV[1] then epoch = ARGV[1] end
epoch = string.format('%016x', tonumber(epoch, 16) + 1)
redis.call('HSET', KEYS[1], 'epoch', epoch, 'base', epoch, 'log', ARGV[2], 'applied', none, 'common', none)
return 1`)

// Rewind has owners apply the whole log again to all records: where a Redis has lost some, there may be newer ones in
// their place. at is the progress of a partition by the last look.
func (r *Conn) Rewind(ctx context.Context, p int, at *Progress) error {
	done := rewindScript.Exec(ctx, r.Client, []string{r.part(p)}, []string{at.Epoch, at.Log})
	return wrap.Err(done.Error(), "exposure: begin partition %d again", p)
}

// Secret returns the secret of the store, nil if it has none. One that is given becomes it, unless there is one.
func (r *Conn) Secret(ctx context.Context, fresh []byte) ([]byte, error) {
	key := r.Prefix + ":secret"
	var err error
	if fresh != nil {
		err = r.Client.Do(ctx, r.Client.B().Setnx().Key(key).Value(rueidis.BinaryString(fresh)).Build()).Error()
	}
	var secret []byte
	if err == nil {
		secret, err = r.Client.Do(ctx, r.Client.B().Get().Key(key).Build()).AsBytes()
	}
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return secret, wrap.Err(err, "exposure: secret from Redis")
}

// KeepSecret writes the secret again if Redis has lost it.
func (r *Conn) KeepSecret(ctx context.Context, secret []byte) error {
	have, err := r.Secret(ctx, secret)
	if err == nil && !bytes.Equal(have, secret) {
		err = fmt.Errorf("%s:secret is another one than at the start: start again", r.Prefix)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return nil
}

// Masters asks all servers at once: of each that answers, by its address, its run if it is a master or the only
// server, and else "". evicts is the policy by which a master drops keys when it is full, if one does. The error names
// those that do not answer.
func Masters(ctx context.Context, client rueidis.Client) (runs map[string]string, evicts string, err error) {
	nodes := client.Nodes()
	var mu sync.Mutex // of the results
	var all sync.WaitGroup
	runs = map[string]string{}
	for address, node := range nodes {
		all.Go(func() {
			info, failed := node.Do(ctx, node.B().Info().Build()).ToString()
			mu.Lock()
			defer mu.Unlock()
			switch {
			case failed != nil:
				err = errors.Join(err, fmt.Errorf("%w: %s: %w", ErrAway, address, failed))
			case len(nodes) > 1 && !strings.Contains(info, "role:master"):
				runs[address] = ""
			default:
				runs[address] = infoOf(info, "run_id")
				if policy := infoOf(info, "maxmemory_policy"); policy != "noeviction" {
					evicts = policy
				}
			}
		})
	}
	all.Wait()
	return runs, evicts, err
}

func infoOf(info, name string) string {
	_, value, _ := strings.Cut(info, "\n"+name+":")
	value, _, _ = strings.Cut(value, "\r")
	return value
}

// Changed adds the masters of now to those known, forgets those that are none any more, and reports whether one is new:
// it may lack the last writes.
func Changed(known, now map[string]string) bool {
	changed, first := false, len(known) == 0
	for address, run := range now {
		if run == "" {
			delete(known, address)
			continue
		}
		changed = changed || !first && known[address] != run
		known[address] = run
	}
	return changed
}

// appliedSubject is where owners say that they are further; a partition follows. Whoever says so, only Redis is
// believed.
const appliedSubject = "histories.applied."

// Acks tells requests of this service what owners on any service have applied.
type Acks struct {
	conn  *nats.Conn
	redis *Conn
	subs  []*nats.Subscription // one for each partition
	parts [Partitions]ackPart
}

type ackPart struct {
	eventlog.Applied
	mu    sync.Mutex
	owner string // mu; the log whose sequences count, and the epoch of the owner that has applied them
}

// Listen begins to hear what owners say.
func Listen(conn *nats.Conn, redis *Conn) (*Acks, error) {
	a := &Acks{conn: conn, redis: redis}
	for p := range a.parts {
		sub, err := conn.Subscribe(appliedSubject+strconv.Itoa(p), func(m *nats.Msg) {
			if pending, _, _ := m.Sub.Pending(); pending <= 1 { // this one is the last
				_ = a.look(context.Background(), p) // requests that wait look for themselves
			}
		})
		if err != nil {
			return nil, fmt.Errorf("exposure: subscribe to owners: %w", err)
		}
		a.subs = append(a.subs, sub)
		_ = a.look(context.Background(), p) // a report that gets a sequence up to this one does not count yet
	}
	return a, nil
}

// Close stops listening.
func (a *Acks) Close() {
	for _, sub := range a.subs {
		_ = sub.Unsubscribe()
	}
}

// Tell has all services look how far a partition is.
func (a *Acks) Tell(p int) error { return a.conn.Publish(appliedSubject+strconv.Itoa(p), nil) }

// look asks Redis how far a partition is.
func (a *Acks) look(ctx context.Context, p int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	at, err := a.redis.Progress(ctx, p)
	if err != nil {
		return err
	}
	q := &a.parts[p]
	q.mu.Lock()
	defer q.mu.Unlock()
	if owner := at.Log + at.Epoch; owner != q.owner {
		q.owner = owner
		q.Reset(0) // the stream may be another one, or have lost its end: sequences are given again
	}
	refused := map[uint64]error{}
	for seq, why := range at.Refused {
		if seq > q.Seq() && seq <= at.Applied.Seq {
			refused[seq] = refusal(why)
		}
	}
	q.Advance(at.Applied.Seq, refused)
	return nil
}

// refusal is the error whose text an owner has written.
func refusal(outcome string) error {
	if why, ok := strings.CutPrefix(outcome, state.ErrLink.Error()+": "); ok {
		return fmt.Errorf("%w: %s", state.ErrLink, why)
	}
	if outcome == state.ErrExceptions.Error() {
		return state.ErrExceptions
	}
	return &wire.Error{Detail: outcome}
}

// Seq is the last sequence of a partition of which this service knows that it is in Redis.
func (a *Acks) Seq(p int) uint64 { return a.parts[p].Seq() }

// Wait waits until an entry is in Redis, or returns why it was refused, or that Redis does not answer. Now and then it
// asks: what an owner says may get lost.
func (a *Acks) Wait(ctx context.Context, p int, seq uint64) error {
	return a.parts[p].Applied.Wait(ctx, seq, func() error { return a.look(ctx, p) })
}
