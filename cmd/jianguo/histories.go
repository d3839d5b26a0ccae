package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	histories "jianguo/exposure/state"
	"jianguo/internal/must"
	"jianguo/internal/wrap"
)

// kinds are those of the log of exposures beside delivered and seen.
func (f *serveFlags) kinds(s *service) []string {
	kinds := s.histories.MoreKinds()
	if f.ExposureStore != "" {
		kinds = append(kinds, string(histories.Linked), string(histories.Unlinked))
	}
	return kinds
}

// openShared connects to the Redis of users' histories; nil: they are in the data directory.
func (f *serveFlags) openShared(co *stdio, s *service, js jetstream.JetStream) (*exposure.Shared, error) {
	if f.ExposureStore == "" {
		return nil, nil
	}
	if f.NATS == "" {
		return nil, errors.New("--exposure-store: several services need a bus in common: set --nats")
	}
	plan := s.plan()
	conn, err := redis.Open(f.ExposureStore, plan.Prefix+"jianguo")
	if err != nil {
		return nil, fmt.Errorf("--exposure-store: %w", err)
	}
	shared := &exposure.Shared{Redis: conn}
	err = bus.RetryWhileAway(co.ctx, co.log, busWait, func() error {
		return must.Catch(func() {
			bucket := func(ctx context.Context) (jetstream.KeyValue, error) {
				return redis.Bucket(ctx, js, plan.Prefix, plan.Replicas)
			}
			kv := must.Get(bucket(co.ctx))
			shared.Owners = &redis.Owners{KV: kv, Bucket: bucket, Name: s.name, Logger: co.log}
			shared.Acks = must.Get(redis.Listen(s.conn, shared.Redis))
		})
	})
	return shared, wrap.Err(err, "--exposure-store")
}

// logConfig is how the log of exposures is made.
func (f *serveFlags) logConfig(s *service) eventlog.Config {
	embedded := s.bus
	var witness func(time.Time) // the embedded bus has the clock of this process
	if embedded == nil {
		witness = s.clock.Witness
	}
	return eventlog.Config{Kinds: f.kinds(s), Witness: witness, Plan: s.plan(),
		Create: embedded.Create,
		Synced: func(ctx context.Context, seq uint64) error {
			_, err := embedded.Synced(ctx, eventlog.StreamName, seq)
			return err
		},
		Purgeable: func(seq uint64) uint64 { return embedded.Purgeable(eventlog.StreamName, seq) }}
}
