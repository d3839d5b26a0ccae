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
	"jianguo/internal/streams"
)

// maxBatch is how many events an owner applies at once: their users are read in one pipeline and
// written in another.
const maxBatch = 256

// owner applies the events of one partition, as long as it may.
type owner struct {
	*fleet
	part    int
	mark    redis.Mark
	end     eventlog.State           // of the log, by the last look
	applied streams.Point            // as Redis has it
	begin   streams.Point            // what is applied again comes behind it
	refused map[uint64]string        // of recent entries, of former owners too: why they were not applied
	known   map[state.Address]*owned // the users of the batch
	broken  map[state.Address]bool   // those whose shards cannot be read
}

// owned is a user in a history, of the batch that is being applied.
type owned struct {
	addr    state.Address
	st      *state.State
	found   string // in Redis
	version redis.Version
	changed bool
	may     string // of the write: redis.Over, redis.Aside, or neither
}

// own is applyPartition, and notes for Trouble why that has failed until it applies events again.
func (f *fleet) own(ctx context.Context, part int) error {
	err := f.applyPartition(ctx, part)
	trouble := err
	if ctx.Err() != nil || errors.Is(err, errMasters) || errors.Is(err, redis.ErrFenced) {
		trouble = nil
	}
	f.failing[part].Set(trouble)
	return err
}

// applyPartition applies the events of a partition until ctx ends, it is fenced, or Redis fails.
func (f *fleet) applyPartition(ctx context.Context, part int) error {
	o, err := f.acquire(ctx, part)
	defer f.pending[part].Store(0)
	if err != nil {
		return err
	}
	again := *f.again.Load()
	entries := make(chan eventlog.Entry, maxBatch)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return f.log.ConsumePart(ctx, part, o.begin, func(e eventlog.Entry) error {
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
	return must.Try(func() *owner {
		at := must.Get(f.look(ctx, part))
		log := must.Get(f.log.State(ctx))
		end := must.Get(f.log.Behind(ctx, at.Applied))
		last, recent := end, must.Get(f.log.Recent(ctx, end))
		if changed := f.changed.Load(); changed != nil && time.Since(*changed) < eventlog.Replayed {
			last = recent // records may hold later entries and lack earlier ones
		}
		if last == at.Applied.Seq {
			last = math.MaxUint64 // it has its end; what a former owner applies until Acquire is behind that
		}
		mark := must.Get(f.Redis.Acquire(ctx, part, log.ID, last))
		// 2^32 numbers for shards that no other service gives
		f.lastShard.CompareAndSwap(0, int64(mark.Epoch)<<36|int64(part)<<32)
		must.Do(f.Acks.Tell(part))
		o := &owner{fleet: f, part: part, mark: mark, end: log,
			applied: streams.PointOf(mark.Applied, at.Applied.String()),
			refused: map[uint64]string{}, broken: map[state.Address]bool{}}
		if o.begin = o.applied; recent < o.begin.Seq {
			o.begin = streams.Point{Seq: recent}
		}
		for seq, why := range at.Refused {
			if at.Log == log.ID && seq <= end { // later ones were of an end that the log has lost
				o.refused[seq] = why
			}
		}
		return o
	})
}

var errMasters = errors.New("exposure: other Redis masters")

func (o *owner) run(ctx context.Context, entries <-chan eventlog.Entry, again <-chan struct{}) error {
	release := time.NewTicker(time.Minute)
	defer release.Stop()
	fenced := time.NewTicker(redis.LeaseTTL) // where no entries come, too
	defer fenced.Stop()
	for {
		var batch []eventlog.Entry
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again:
			return errMasters
		case <-fenced.C:
			if err := o.advance(ctx); err != nil {
				return err
			}
			continue
		case <-release.C:
			if err := o.log.ReleasePart(ctx, o.part, o.applied.Seq); err != nil && ctx.Err() == nil {
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
		err := o.applyBatch(ctx, batch)
		for broken := 0; errors.Is(err, ErrCorrupt) && len(o.broken) > broken; { // what is in Redis is as before
			broken = len(o.broken)
			err = o.applyBatch(ctx, batch)
		}
		if err != nil {
			return fmt.Errorf("exposure: apply partition %d up to %d: %w", o.part, last.Seq, err)
		}
		clear(o.broken)
		o.metrics.flushes.Observe(time.Since(started).Seconds())
		o.pending[o.part].Store(int64(last.Pending))
		o.failing[o.part].Set(nil)
		if last.Seq > o.applied.Seq {
			o.applied = streams.Point{Seq: last.Seq, Logged: last.Time.UnixNano()}
		}
		if err := o.advance(ctx); err != nil {
			return err
		}
		if err := o.Acks.Tell(o.part); err != nil {
			return err
		}
	}
}

// advance stores how far the partition is applied, and why any of the last 16,384 entries was refused.
func (o *owner) advance(ctx context.Context) error {
	maps.DeleteFunc(o.refused, func(seq uint64, _ string) bool { return seq+1<<14 < o.applied.Seq })
	return o.Redis.Advance(ctx, o.part, o.mark.Epoch, o.applied, o.refused)
}

// applyBatch applies a batch in memory and writes the users that it changed.
func (o *owner) applyBatch(ctx context.Context, batch []eventlog.Entry) error {
	events, bad := make([]*logEvent, len(batch)), make([]error, len(batch))
	var addrs []state.Address
	for i := range batch {
		events[i], bad[i] = o.decode(batch[i], new(wire.Query))
		if ev := events[i]; ev != nil && redis.PartitionOf(ev.user) == o.part {
			for _, history := range o.historiesOf(ev) {
				addrs = append(addrs, state.Address{History: history, User: ev.user})
			}
		}
	}
	o.known, o.end.Last = map[state.Address]*owned{}, max(o.end.Last, batch[len(batch)-1].Seq)
	return must.Catch(func() {
		o.read(ctx, addrs)
		for i, e := range batch {
			if o.refused[e.Seq] != "" {
				continue // it stays refused, as its client was told, whatever has changed since
			}
			outcome := bad[i]
			if outcome != nil {
				o.bury(ctx, e, outcome)
			} else {
				if outcome = o.applyOne(ctx, events[i], e.Data); !refused(outcome) {
					must.Do(outcome)
				}
				o.traceReport(e, string(events[i].Kind), events[i].q, outcome)
			}
			if outcome != nil {
				o.refused[e.Seq] = outcome.Error()
			}
		}
		o.write(ctx)
	})
}

// read reads the heads of users that are not known yet. It panics on errors (must).
func (o *owner) read(ctx context.Context, addrs []state.Address) {
	ctx, cancel := context.WithTimeout(ctx, 5*redisWait)
	defer cancel()
	var unread []state.Address
	for _, addr := range addrs {
		if o.known[addr] == nil {
			o.known[addr] = &owned{addr: addr, st: new(state.State)}
			unread = append(unread, addr)
		}
	}
	for _, f := range must.Get(o.Redis.Read(ctx, true, unread...)) {
		u := o.known[f.Address]
		u.found = f.Stored
		if f.Err == nil && o.broken[f.Address] {
			f.Err = fmt.Errorf("shards of a user: %w", ErrCorrupt)
		}
		if f.Err == nil && f.Head != nil {
			u.st, f.Err = state.DecodeHead(f.Head, f.Address)
		}
		if f.Err != nil {
			o.metrics.corrupt.Inc()
			o.cfg.Logger.Error("exposure: unreadable state set aside; the user starts empty", "err", f.Err)
			u.st, u.may = new(state.State), redis.Aside
			continue
		}
		u.st.Adopt(o.policies[f.History], o.cfg.Location)
		if u.version = f.Version; o.ahead(f.Version) {
			if must.Do(o.check(ctx)); o.ahead(f.Version) {
				u.version, u.may = redis.Version{}, redis.Over
			}
		}
	}
}

// ahead says whether a version is of a later owner than this one, or of an entry beyond the end of the log: the log has
// lost that end, and all events are later.
func (o *owner) ahead(v redis.Version) bool {
	return v.Epoch > o.mark.Epoch || v.Epoch >= o.mark.Base && v.Seq > o.end.Last
}

// check looks where the log ends, and whether there is a later owner.
func (o *owner) check(ctx context.Context) error {
	end, err := o.log.State(ctx)
	if err == nil && end.ID != o.end.ID {
		err = eventlog.ErrGone
	}
	if err != nil {
		return err
	}
	o.end = end
	return o.advance(ctx)
}

// fetch reads shards of a user. If the record is no longer of the version that its head had, they do not fit that head.
func (o *owner) fetch(ctx context.Context, u *owned) state.Fetcher {
	return func(shards []*state.Shard) error {
		rec, err := o.Redis.Get(ctx, u.addr)
		if err == nil && rec.Stored != u.found {
			err = redis.ErrFenced
		}
		for i := 0; i < len(shards) && err == nil; i++ {
			if err = state.DecodeShard(rec.Shards[shards[i].ID()], shards[i]); err != nil {
				o.broken[u.addr] = true
			}
		}
		return err
	}
}

// applyOne applies an event, unless a former owner has written it already.
func (o *owner) applyOne(ctx context.Context, ev *logEvent, data []byte) error {
	if p := redis.PartitionOf(ev.user); p != o.part {
		// Published without a partition, or with one of another number of partitions. An owner that begins again may
		// have handed it on already: once more it would undo what came since.
		_, err := o.log.AppendOnce(ctx, fmt.Sprint(ev.seq, " handed on"), (&Event{Kind: ev.Kind}).subject(p), data)
		return err
	}
	var histories []string
	for _, history := range o.historiesOf(ev) {
		v := o.known[state.Address{History: history, User: ev.user}].version
		if v.Epoch < o.mark.Base && ev.seq > o.mark.Common || v.Seq < ev.seq {
			histories = append(histories, history)
		}
	}
	if len(histories) == 0 {
		return nil
	}
	return o.core.apply(ctx, o, ev, histories)
}

// apply implements states.
func (o *owner) apply(ctx context.Context, history string, ev *logEvent) (state.Links, error) {
	u := o.known[state.Address{History: history, User: ev.user}]
	links := u.st.Links
	err := u.st.Apply(o.policies[history], &ev.Event, o.fetch(ctx, u))
	if err == nil && !ev.DryRun {
		u.version, u.changed = redis.Version{Epoch: o.mark.Epoch, Seq: ev.seq}, true
	}
	return links, err
}

// linksOf implements states, for users of this partition or another.
func (o *owner) linksOf(ctx context.Context, user string) (all state.Links) {
	var addrs []state.Address
	for history := range o.policies {
		addrs = append(addrs, state.Address{History: history, User: user})
	}
	o.read(ctx, addrs)
	for _, addr := range addrs {
		all.Join(o.known[addr].st.Links)
	}
	return all
}

// applyFollowUp implements states. Another user may have another owner: the event goes through the log, once. An owner
// that begins again may have appended it already.
func (o *owner) applyFollowUp(ctx context.Context, ev *logEvent) {
	followUp, n := Event{Kind: ev.Kind, User: ev.user, From: ev.From}, 0
	if ev.Kind.Items() {
		followUp.Scene, followUp.Items = ev.scene, ev.q.IDs()
	}
	for payload := range followUp.parts() {
		id := fmt.Sprintf("%d %s %s %d", ev.seq, ev.Kind, ev.user, n)
		must.Get(o.log.AppendOnce(ctx, id, followUp.subject(redis.PartitionOf(ev.user)), payload))
		n++
	}
}

// write writes the users that the batch changed. It and keepLinked panic on errors (must).
func (o *owner) write(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*redisWait)
	defer cancel()
	var writes []redis.Write
	var addrs []state.Address
	for _, u := range o.known {
		if !u.changed {
			continue
		}
		snap := u.st.Snapshot(u.addr, o.nextShard)
		w := redis.Write{Address: u.addr, Found: u.found, Freed: snap.Freed, May: u.may, TTL: forgottenTTL,
			Record: redis.Record{Version: u.version, Head: snap.Head, Shards: snap.Shards}}
		if snap.Head != nil {
			w.TTL = o.ttl(u.addr.History)
		}
		writes, addrs = append(writes, w), append(addrs, u.addr)
		o.metrics.flushedUsers.Inc()
		o.metrics.flushedBytes.Add(float64(snap.Size()))
		o.metrics.stateBytes.Observe(float64(len(snap.Head)))
	}
	if len(writes) > 0 {
		o.keepLinked(ctx, addrs, func(l state.Links) []string { return l.From })
		o.keepLinked(ctx, addrs, func(l state.Links) []string { return l.Into })
		must.Do(o.Redis.Put(ctx, writes))
	}
}

// forgottenTTL is how long a record without a head stays.
const forgottenTTL = eventlog.ErasureDelay + 2*time.Hour

// ttl is how long a record stays after a write of its user, or of one who is linked, over others too.
func (o *owner) ttl(history string) time.Duration {
	return max(forgottenTTL, o.policies[history].Kept())
}

// keepLinked lets the records stay that links lead to in one direction: one that expired would take its links along.
func (o *owner) keepLinked(ctx context.Context, level []state.Address, next func(state.Links) []string) {
	var kept []redis.Write
	for depth := 0; len(level) > 0 && depth < state.MaxLinks; depth++ {
		o.read(ctx, level)
		linked := map[state.Address]bool{}
		for _, addr := range level {
			for _, user := range next(o.known[addr].st.Links) {
				linked[state.Address{History: addr.History, User: user}] = true
			}
		}
		level = slices.Collect(maps.Keys(linked))
		for _, addr := range level {
			kept = append(kept, redis.Write{Address: addr, TTL: o.ttl(addr.History)})
		}
	}
	must.Do(o.Redis.Keep(ctx, kept))
}
