package redis

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/internal/clock"
	"jianguo/internal/wrap"
)

// LeaseTTL is how long after its last sign a service is taken to be gone: its partitions
// move to others within this time and a few seconds.
const LeaseTTL = 5 * time.Second

const renewEvery = time.Second

// Owners spreads the partitions over the services that share a bucket. Run sets Owned; the other exported fields are
// set before Run.
type Owners struct {
	KV     jetstream.KeyValue
	Bucket func(context.Context) (jetstream.KeyValue, error) // makes KV
	Name   string                                            // of this service, another one for each start
	Logger *slog.Logger
	// Own applies a partition until ctx ends, or something fails. It is called again while the lease is held, and once
	// after that, if it had failed.
	Own func(ctx context.Context, partition int) error

	held  map[int]*lease // owned by Run
	Owned atomic.Int64   // partitions of this service
	taken atomic.Int64   // partitions with an owner, by the last look
	whole atomic.Int64   // unix nanoseconds of the last look when all were
}

// Unowned is how many partitions have no owner. Those that move from one to another, as they do within seconds, do
// not count.
func (o *Owners) Unowned() int64 {
	if time.Since(time.Unix(0, o.whole.Load())) < 2*LeaseTTL {
		return 0
	}
	return Partitions - o.taken.Load()
}

// lease is a partition of this service.
type lease struct {
	revision uint64
	stop     context.CancelFunc
	ended    sync.WaitGroup
}

// Bucket creates the bucket of leases.
func Bucket(ctx context.Context, js jetstream.JetStream, prefix string, replicas int) (jetstream.KeyValue, error) {
	kv, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: prefix + "EXPOSURE_OWNERS",
		Description: "which service applies which users' reports", TTL: LeaseTTL,
		Storage: jetstream.MemoryStorage, Replicas: max(replicas, 1)})
	return kv, wrap.Err(err, "exposure: bucket of leases")
}

const (
	nodeKey = "node."
	partKey = "part."
)

// Run holds a share of the partitions until ctx ends. Then it gives them up.
func (o *Owners) Run(ctx context.Context) {
	o.held = map[int]*lease{}
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		if err := o.turn(ctx); err != nil && ctx.Err() == nil {
			o.Logger.Warn("exposure: leases", "err", err)
			if kv, err := o.Bucket(ctx); err == nil { // it is in memory: a server that was restarted has lost it
				o.KV = kv
			}
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			for p := range o.held {
				o.release(last, p)
			}
			_ = o.KV.Delete(last, nodeKey+o.Name) // it expires otherwise
			return
		case <-tick.C:
		}
	}
}

// turn renews what is held, and takes or gives up partitions until this service has its share.
func (o *Owners) turn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, LeaseTTL-2*renewEvery)
	defer cancel()
	for p, l := range o.held {
		revision, err := o.KV.Update(ctx, partKey+strconv.Itoa(p), []byte(o.Name), l.revision)
		if err != nil {
			// Another service may have the partition, or may soon: stopping is always right.
			o.Logger.Warn("exposure: a lease is lost", "partition", p, "err", err)
			o.drop(p)
			continue
		}
		l.revision = revision
	}
	if _, err := o.KV.Put(ctx, nodeKey+o.Name, nil); err != nil {
		return err
	}
	nodes, taken, err := o.look(ctx)
	if err != nil {
		return err
	}
	if o.taken.Store(int64(len(taken))); len(taken) == Partitions {
		o.whole.Store(time.Now().UnixNano())
	}
	share := (Partitions + nodes - 1) / nodes
	for p := range o.held {
		if len(o.held) > share {
			o.release(ctx, p)
		}
	}
	for p := 0; p < Partitions && len(o.held) < share; p++ {
		if !taken[p] {
			o.take(ctx, p)
		}
	}
	o.Owned.Store(int64(len(o.held)))
	return nil
}

// look counts the services, and lists the partitions that have an owner.
func (o *Owners) look(ctx context.Context) (nodes int, taken map[int]bool, err error) {
	keys, err := o.KV.Keys(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
		return 0, nil, err
	}
	taken = map[int]bool{}
	for _, key := range keys {
		if p, ok := strings.CutPrefix(key, partKey); ok {
			if n, err := strconv.Atoi(p); err == nil {
				taken[n] = true
			}
		} else if strings.HasPrefix(key, nodeKey) {
			nodes++
		}
	}
	return max(nodes, 1), taken, nil
}

// take begins to own a partition, unless another service is faster.
func (o *Owners) take(ctx context.Context, p int) {
	revision, err := o.KV.Create(ctx, partKey+strconv.Itoa(p), []byte(o.Name))
	if err != nil {
		if !errors.Is(err, jetstream.ErrKeyExists) {
			o.Logger.Warn("exposure: lease", "partition", p, "err", err)
		}
		return
	}
	l := &lease{revision: revision}
	running, stop := context.WithCancel(context.Background())
	l.stop = stop
	o.held[p] = l
	l.ended.Go(func() {
		for { // a lease may end between two tries: the last call has an ended context
			err := o.Own(running, p)
			if running.Err() != nil {
				return
			}
			if err == nil {
				continue
			}
			o.Logger.Warn("exposure: a partition begins again", "partition", p, "err", err)
			_ = clock.Sleep(running, renewEvery/2)
		}
	})
}

// drop stops owning a partition.
func (o *Owners) drop(p int) {
	l := o.held[p]
	delete(o.held, p)
	l.stop()
	l.ended.Wait()
}

// release drops a partition and lets another service take it at once.
func (o *Owners) release(ctx context.Context, p int) {
	revision := o.held[p].revision
	o.drop(p)
	if err := o.KV.Delete(ctx, partKey+strconv.Itoa(p), jetstream.LastRevision(revision)); err != nil {
		o.Logger.Warn("exposure: a lease that was given up expires later", "partition", p, "err", err)
	}
}
