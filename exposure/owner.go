package exposure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/exposure/state"
	"jianguo/exposure/wire"
	"jianguo/internal/must"
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
	keys  []uint32
}

// owned is a user in a history, of the batch that is being applied.
type owned struct {
	key     redis.Key
	pol     *Policy
	st      *state.State
	found   redis.Version // in Redis
	version redis.Version
	changed bool
	bad     []byte // a head that could not be read
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
	o, err := must.Try(func() *owner { return f.acquire(ctx, part) })
	defer f.pending[part].Store(0)
	if err != nil {
		return err
	}
	again := *f.again.Load()
	entries := make(chan eventlog.Entry, maxBatch)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return f.log.ConsumePart(ctx, part, o.mark.Applied, time.Now().Add(-redis.Replayed), func(e eventlog.Entry) error {
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
func (f *fleet) acquire(ctx context.Context, part int) *owner {
	applied, log := must.Get(f.Redis.Applied(ctx, part)), must.Get(f.log.State(ctx))
	if applied <= log.Last {
		log.Last = math.MaxUint64 // it has its end; what a former owner applies until Acquire is behind that
	}
	mark := must.Get(f.Redis.Acquire(ctx, part, log.ID, log.Last))
	f.lastShard.CompareAndSwap(0, int64(mark.Epoch)<<36|int64(part)<<32) // 2^32 numbers for shards that no other service gives
	must.Do(f.Acks.Tell(part, redis.Ack{Log: log.ID, Seq: mark.Applied}))
	return &owner{fleet: f, part: part, mark: mark, logID: log.ID}
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
		ack, err := must.Try(func() redis.Ack { return o.apply(ctx, batch) })
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

// pendingEvent is a decoded entry.
type pendingEvent struct {
	eventlog.Entry
	q    wire.Query
	kind EventKind
	at   time.Time
	err  error
}

// What follows, package must ends.

// apply applies a batch in memory and writes the users that it changed.
func (o *owner) apply(ctx context.Context, batch []eventlog.Entry) redis.Ack {
	ack := redis.Ack{Refused: map[uint64]string{}}
	events := make([]pendingEvent, len(batch))
	var keys []redis.Key
	for i := range events {
		ev := &events[i]
		ev.Entry = batch[i]
		if ev.kind, ev.err = o.kindOf(ev.Subject); ev.err == nil {
			ev.at, ev.err = decodeEvent(&ev.q, ev.kind, ev.Data)
		}
		if ev.err == nil && redis.PartitionOf(ev.q.User) == o.part {
			for _, history := range o.historiesOf(ev) {
				keys = append(keys, redis.Key{History: history, User: ev.q.User})
			}
		}
	}
	o.known = map[string]*owned{}
	o.read(ctx, keys)
	for i := range events {
		ev := &events[i]
		outcome := o.one(ctx, ev)
		if outcome != nil {
			ack.Refused[ev.Seq] = outcomeOf(outcome)
		}
		o.w.traceReport(ev.Entry, string(ev.kind), &ev.q, outcome)
	}
	o.write(ctx)
	return ack
}

// historiesOf lists the histories that an event may change.
func (o *owner) historiesOf(ev *pendingEvent) (list []string) {
	switch {
	case ev.kind == Imported:
		return []string{""}
	case ev.kind == Unsee:
		return o.scene(ev.q.Scene).all()
	case !ev.kind.Items():
		return slices.Collect(maps.Keys(o.policies))
	}
	for _, history := range o.scene(ev.q.Scene).Writes {
		if slices.Contains(o.keeps[history], string(ev.kind)) {
			list = append(list, history)
		}
	}
	return list
}

// read reads the heads of users that are not known yet.
func (o *owner) read(ctx context.Context, keys []redis.Key) {
	ctx, cancel := context.WithTimeout(ctx, 5*redisWait)
	defer cancel()
	var unread []redis.Key
	for _, k := range keys {
		if addr := state.Address(k.History, k.User); o.known[addr] == nil {
			o.known[addr] = &owned{key: k, pol: o.policies[k.History]}
			unread = append(unread, k)
		}
	}
	if len(unread) == 0 {
		return
	}
	records := must.Get(o.Redis.Heads(ctx, unread))
	for i, k := range unread {
		addr := state.Address(k.History, k.User)
		u := o.known[addr]
		u.st, u.found, u.version = new(state.State), records[i].Version, records[i].Version
		if records[i].Head == nil {
			continue
		}
		var err error
		if u.st, err = state.DecodeHead(records[i].Head, addr); err != nil {
			o.metrics.corrupt.Inc()
			o.cfg.Logger.Error("exposure: unreadable state set aside; the user starts empty", "err", err)
			u.st, u.bad = new(state.State), records[i].Head
		}
	}
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

// one applies an event. Its outcome is why it was refused.
func (o *owner) one(ctx context.Context, ev *pendingEvent) (outcome error) {
	if ev.err != nil {
		must.Do(o.w.setAside(ctx, ev.Entry, ev.err))
		return ev.err
	}
	if p := redis.PartitionOf(ev.q.User); p != o.part {
		// Published without a partition, or with one of another number of partitions.
		must.Get(o.cfg.Log.Append(ctx, (&Event{Kind: ev.kind}).subject(p), ev.Data))
		return nil
	}
	var users []*owned
	for _, history := range o.historiesOf(ev) {
		u := o.known[state.Address(history, ev.q.User)]
		if u.version.Epoch < o.mark.Base || u.version.Seq < ev.Seq { // else a former owner has written this event
			users = append(users, u)
		}
	}
	if len(users) == 0 {
		return nil
	}
	o.metrics.events.WithLabelValues(string(ev.kind)).Inc()
	logged, now := ev.Time.In(o.cfg.Location), o.cfg.Clock().In(o.cfg.Location)
	if logged.Before(now) {
		now = logged
	}
	change := &change{owner: o, ev: ev, users: users, logged: logged, now: now}
	err := must.Catch(func() { change.do(ctx) })
	if errors.Is(err, ErrExceptions) || errors.Is(err, ErrLink) {
		return err
	}
	must.Do(err)
	for _, u := range users {
		u.version, u.changed = redis.Version{Epoch: o.mark.Epoch, Seq: ev.Seq}, true
	}
	return nil
}

// write writes the users that the batch changed.
func (o *owner) write(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*redisWait)
	defer cancel()
	var writes []redis.Write
	for addr, u := range o.known {
		if !u.changed {
			continue
		}
		snap := u.st.Snapshot(addr, o.nextShard)
		w := redis.Write{Key: u.key, Found: u.found, Freed: snap.Freed, Bad: u.bad, TTL: eventlog.ErasureDelay + 2*time.Hour,
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
		writes = append(writes, w)
	}
	if len(writes) > 0 {
		must.Do(o.Redis.Put(ctx, writes))
	}
}

// change is an event with the states that it changes: those of its user alone. What it means for
// others goes into their partitions as events of its own, before the user's state is written.
type change struct {
	*owner
	ev          *pendingEvent
	users       []*owned
	logged, now time.Time
}

func (c *change) do(ctx context.Context) {
	q, kind := &c.ev.q, c.ev.kind
	switch kind {
	case Unsee:
		c.unsee(ctx)
		return
	case Forget:
		c.forget(ctx)
		return
	case Link:
		c.links(ctx).Check(q.User, q.From)
	case Unlink, Linked, Unlinked, Imported:
	default:
		c.items(ctx)
		return
	}
	for _, u := range c.users {
		if kind == Linked || kind == Imported {
			u.st.Touch(u.pol, c.logged, c.now) // a link ends when this state expires
		}
		switch l := &u.st.Links; kind {
		case Link, Unlink:
			l.From = state.SetUser(l.From, q.From, kind == Link)
		case Linked, Unlinked:
			l.Into = state.SetUser(l.Into, q.From, kind == Linked)
		case Imported:
			l.Imported = true
		}
	}
	switch kind {
	case Link:
		c.tell(ctx, Event{Kind: Linked, User: q.From, From: q.User})
	case Unlink:
		c.tell(ctx, Event{Kind: Unlinked, User: q.From, From: q.User})
	}
}

// items adds a report.
func (c *change) items(ctx context.Context) {
	q := &c.ev.q
	c.keys = q.Keys(c.keys, wire.Seed(&c.secret, q.User))
	for _, u := range c.users {
		at := u.pol.Clamp(c.ev.at, c.logged)
		if c.ev.kind == Delivered {
			u.st.Deliver(u.pol, c.keys, at, c.now)
		} else {
			must.Do(u.st.See(u.pol, c.keys, at, c.now, c.fetch(ctx, u)))
		}
	}
	if c.ev.kind == Seen {
		c.popular.Add(q, c.ev.at, c.now)
	}
}

// unsee removes items of the user, and asks for the same of those whose histories count directly.
func (c *change) unsee(ctx context.Context) {
	q := &c.ev.q
	c.keys = q.Keys(c.keys, wire.Seed(&c.secret, q.User))
	for _, try := range []bool{true, false} {
		for _, u := range c.users {
			must.Do(u.st.Unsee(u.pol, c.keys, c.now, c.fetch(ctx, u), try))
		}
	}
	for _, from := range c.neighbours(func(l *state.Links) []string { return l.From }) {
		c.tell(ctx, Event{Kind: Unsee, User: from, Scene: q.Scene, Items: q.IDs()})
	}
}

// forget removes all of the user, and asks for the same of those whose histories count directly.
func (c *change) forget(ctx context.Context) {
	user := c.ev.q.User
	if c.cfg.Forgotten != nil {
		must.Do(c.w.insist(ctx, "forget a user elsewhere", func() error { return c.cfg.Forgotten(ctx, user) }))
	}
	must.Do(c.w.insist(ctx, "erase a trace", func() error { return c.Traces.Erase(ctx, user) }))
	for _, from := range c.neighbours(func(l *state.Links) []string { return l.From }) {
		c.tell(ctx, Event{Kind: Forget, User: from})
	}
	for _, into := range c.neighbours(func(l *state.Links) []string { return l.Into }) {
		c.tell(ctx, Event{Kind: Unlink, User: into, From: user})
	}
	for _, u := range c.users {
		u.st.Reset()
		u.st.Links = state.Links{}
	}
}

// neighbours lists the users that the states are linked with, in one direction.
func (c *change) neighbours(side func(*state.Links) []string) (list []string) {
	for _, u := range c.users {
		list = state.Union(list, side(&u.st.Links))
	}
	return list
}

// links reads users' links in any history, of this partition or another.
func (c *change) links(ctx context.Context) state.LinkReader {
	return func(user string) (all state.Links) {
		var keys []redis.Key
		for history := range c.policies {
			keys = append(keys, redis.Key{History: history, User: user})
		}
		c.read(ctx, keys)
		for _, k := range keys {
			l := c.known[state.Address(k.History, k.User)].st.Links
			all.From, all.Into = append(all.From, l.From...), append(all.Into, l.Into...)
		}
		return all
	}
}

// tell logs an event of another user, once: an owner that begins again may have told it already.
func (c *change) tell(ctx context.Context, ev Event) {
	n := 0
	for payload := range ev.parts() {
		id := fmt.Sprintf("%d %s %s %d", c.ev.Seq, ev.Kind, ev.User, n)
		must.Do(c.log.AppendOnce(ctx, id, ev.subject(redis.PartitionOf(ev.User)), payload))
		n++
	}
}
