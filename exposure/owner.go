package exposure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
)

// maxBatch is how many events an owner applies at once: their users are read in one pipeline and
// written in another.
const maxBatch = 256

// owner applies the events of one partition, as long as it may.
type owner struct {
	*fleet
	part  int
	mark  redis.Mark
	logID string
	known map[string]*owned // the users of the batch, by address
}

// owned is a user in a history, of the batch that is being applied.
type owned struct {
	key     redis.Key
	pol     *Policy
	st      *state.State
	found   redis.Version // in Redis
	version redis.Version
	changed bool
	anew    bool // its head could not be read
}

// keep is own, and notes for Trouble why it has failed until it applies events again.
func (f *fleet) keep(ctx context.Context, part int) error {
	err := f.own(ctx, part)
	if err == nil || ctx.Err() != nil || errors.Is(err, errMasters) || errors.Is(err, redis.ErrFenced) {
		f.failing[part].Set(nil)
	} else {
		f.failing[part].Set(err)
	}
	return err
}

// own applies a partition until ctx ends, it is fenced, or Redis fails.
func (f *fleet) own(ctx context.Context, part int) error {
	o, err := f.acquire(ctx, part)
	defer f.pending[part].Store(0)
	if err != nil {
		return err
	}
	again := *f.again.Load()
	entries := make(chan eventlog.Entry, maxBatch)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		since := time.Now().Add(-redis.Replayed)
		return f.log.ConsumePart(ctx, part, o.mark.Applied, since, func(e eventlog.Entry) error {
			e.Data = slices.Clone(e.Data)
			select {
			case entries <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	g.Go(func() error { return o.run(ctx, entries, again) })
	return g.Wait()
}

// acquire makes this service the owner of a partition.
func (f *fleet) acquire(ctx context.Context, part int) (*owner, error) {
	applied, err := f.Redis.Applied(ctx, part)
	if err != nil {
		return nil, err
	}
	log, err := f.log.State(ctx)
	if err != nil {
		return nil, err
	}
	if applied <= log.Last {
		log.Last = math.MaxUint64 // it has its end; what a former owner applies until Acquire is behind that
	}
	mark, err := f.Redis.Acquire(ctx, part, log.ID, log.Last)
	if err != nil {
		return nil, err
	}
	// 2^32 numbers for shards that no other service gives
	f.lastShard.CompareAndSwap(0, int64(mark.Epoch)<<36|int64(part)<<32)
	err = f.Acks.Tell(part, redis.Ack{Log: log.ID, Seq: mark.Applied})
	return &owner{fleet: f, part: part, mark: mark, logID: log.ID}, err
}

var errMasters = errors.New("exposure: other Redis masters")

func (o *owner) run(ctx context.Context, entries <-chan eventlog.Entry, again <-chan struct{}) error {
	release := time.NewTicker(time.Minute)
	defer release.Stop()
	applied := o.mark.Applied
	for {
		var batch []eventlog.Entry
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again:
			return errMasters
		case <-release.C:
			if err := o.log.ReleasePart(ctx, o.part, applied); err != nil && ctx.Err() == nil {
				o.cfg.Logger.Warn("exposure: log keeps entries that are in Redis", "err", err)
			}
			continue
		case e := <-entries:
			batch = append(batch, e)
		}
		for len(batch) < maxBatch && len(entries) > 0 {
			batch = append(batch, <-entries)
		}
		last := batch[len(batch)-1]
		started := time.Now()
		ack, err := o.applyBatch(ctx, batch)
		if err != nil {
			return fmt.Errorf("exposure: apply partition %d up to %d: %w", o.part, last.Seq, err)
		}
		o.metrics.flushes.Observe(time.Since(started).Seconds())
		o.pending[o.part].Store(int64(last.Pending))
		o.failing[o.part].Set(nil)
		if ack.Seq = max(applied, last.Seq); ack.Seq > applied {
			if err := o.Redis.Advance(ctx, o.part, o.mark.Epoch, ack.Seq); err != nil {
				return err
			}
			applied = ack.Seq
		}
		ack.Log = o.logID
		if err := o.Acks.Tell(o.part, ack); err != nil {
			return err
		}
	}
}

// applyBatch applies a batch in memory and writes the users that it changed.
func (o *owner) applyBatch(ctx context.Context, batch []eventlog.Entry) (redis.Ack, error) {
	ack := redis.Ack{Refused: map[uint64]string{}}
	events, bad := make([]*event, len(batch)), make([]error, len(batch))
	var keys []redis.Key
	for i := range batch {
		events[i], bad[i] = o.decode(batch[i], new(wire.Query))
		if ev := events[i]; ev != nil && redis.PartitionOf(ev.user) == o.part {
			for _, history := range o.historiesOf(ev) {
				keys = append(keys, redis.Key{History: history, User: ev.user})
			}
		}
	}
	o.known = map[string]*owned{}
	if err := o.read(ctx, keys); err != nil {
		return ack, err
	}
	for i, e := range batch {
		outcome := bad[i]
		if outcome != nil {
			if err := o.setAside(ctx, e, outcome); err != nil {
				return ack, err
			}
		} else {
			if outcome = o.applyOne(ctx, events[i], e.Data); outcome != nil && !refused(outcome) {
				return ack, outcome
			}
			o.traceReport(e, string(events[i].Kind), events[i].q, outcome)
		}
		if outcome != nil {
			ack.Refused[e.Seq] = outcome.Error()
		}
	}
	return ack, o.write(ctx)
}

// read reads the heads of users that are not known yet.
func (o *owner) read(ctx context.Context, keys []redis.Key) error {
	ctx, cancel := context.WithTimeout(ctx, 5*redisWait)
	defer cancel()
	var unread []redis.Key
	for _, k := range keys {
		if addr := state.Address(k.History, k.User); o.known[addr] == nil {
			o.known[addr] = &owned{key: k, pol: o.policies[k.History], st: new(state.State)}
			unread = append(unread, k)
		}
	}
	if len(unread) == 0 {
		return nil
	}
	records, err := o.Redis.Heads(ctx, unread)
	if err != nil {
		return err
	}
	for i, k := range unread {
		addr := state.Address(k.History, k.User)
		u := o.known[addr]
		u.found, u.version = records[i].Version, records[i].Version
		if records[i].Head == nil {
			continue
		}
		st, err := state.DecodeHead(records[i].Head, addr)
		if err != nil {
			o.metrics.corrupt.Inc()
			o.cfg.Logger.Error("exposure: unreadable state removed; the user starts empty", "err", err)
			u.anew = true
			continue
		}
		u.st = st
	}
	return nil
}

// fetch reads shards of a user. If the record is no longer of the version that its head had, they do not fit that head.
func (o *owner) fetch(ctx context.Context, u *owned) state.Fetcher {
	return func(shards []*state.Shard) error {
		rec, err := o.Redis.Get(ctx, u.key)
		if err == nil && rec.Version != u.found {
			err = redis.ErrFenced
		}
		for i := 0; i < len(shards) && err == nil; i++ {
			err = state.DecodeShard(rec.Shards[shards[i].ID()], shards[i])
		}
		return err
	}
}

// applyOne applies an event, unless a former owner has written it already.
func (o *owner) applyOne(ctx context.Context, ev *event, data []byte) error {
	if p := redis.PartitionOf(ev.user); p != o.part {
		// Published without a partition, or with one of another number of partitions.
		_, err := o.cfg.Log.Append(ctx, (&Event{Kind: ev.Kind}).subject(p), data)
		return err
	}
	var histories []string
	for _, history := range o.historiesOf(ev) {
		v := o.known[state.Address(history, ev.user)].version
		if v.Epoch < o.mark.Base || v.Seq < ev.seq {
			histories = append(histories, history)
		}
	}
	if len(histories) == 0 {
		return nil
	}
	return o.core.apply(ctx, o, ev, histories)
}

// apply implements states.
func (o *owner) apply(ctx context.Context, history string, ev *event) (state.Links, error) {
	u := o.known[state.Address(history, ev.user)]
	links := u.st.Links
	err := u.st.Apply(u.pol, &ev.Event, o.fetch(ctx, u))
	if err == nil && !ev.Try {
		u.version, u.changed = redis.Version{Epoch: o.mark.Epoch, Seq: ev.seq}, true
	}
	return links, err
}

// linksOf implements states, for users of this partition or another.
func (o *owner) linksOf(ctx context.Context, user string) (all state.Links, err error) {
	var keys []redis.Key
	for history := range o.policies {
		keys = append(keys, redis.Key{History: history, User: user})
	}
	if err := o.read(ctx, keys); err != nil {
		return all, err
	}
	for _, k := range keys {
		l := o.known[state.Address(k.History, k.User)].st.Links
		all.From, all.Into = state.Union(all.From, l.From), state.Union(all.Into, l.Into)
	}
	return all, nil
}

// tell implements states. Another user may have another owner: the event goes through the log, once. An owner that
// begins again may have told it already.
func (o *owner) tell(ctx context.Context, ev *event) error {
	if ev.Try {
		return nil
	}
	told, n := Event{Kind: ev.Kind, User: ev.user, From: ev.From}, 0
	if ev.Kind.Items() {
		told.Scene, told.Items = ev.scene, ev.q.IDs()
	}
	for payload, err := range told.parts() {
		id := fmt.Sprintf("%d %s %s %d", ev.seq, ev.Kind, ev.user, n)
		if err == nil {
			err = o.log.AppendOnce(ctx, id, told.subject(redis.PartitionOf(ev.user)), payload)
		}
		if err != nil {
			return err
		}
		n++
	}
	return nil
}

// write writes the users that the batch changed.
func (o *owner) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*redisWait)
	defer cancel()
	var writes []redis.Write
	for addr, u := range o.known {
		if u.changed {
			writes = append(writes, o.imageOf(addr, u))
		}
	}
	if len(writes) == 0 {
		return nil
	}
	return o.Redis.Put(ctx, writes)
}

// imageOf is what Redis is to hold of a user.
func (o *owner) imageOf(addr string, u *owned) redis.Write {
	snap := u.st.Snapshot(addr, o.nextShard)
	w := redis.Write{Key: u.key, Found: u.found, Freed: snap.Freed, Anew: u.anew,
		TTL:    eventlog.ErasureDelay + 2*time.Hour,
		Record: redis.Record{Version: u.version, Head: snap.Head, Shards: map[int64][]byte{}}}
	for _, sh := range snap.Shards {
		w.Shards[sh.ID] = sh.Data
		o.metrics.flushedBytes.Add(float64(len(sh.Data)))
	}
	if snap.Head != nil {
		w.TTL = max(w.TTL, u.pol.Kept())
	}
	o.metrics.flushedUsers.Inc()
	o.metrics.flushedBytes.Add(float64(len(snap.Head)))
	o.metrics.stateBytes.Observe(float64(len(snap.Head)))
	return w
}
