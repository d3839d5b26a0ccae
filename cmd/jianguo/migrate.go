package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/internal/datadir"
	"jianguo/internal/must"
	"jianguo/internal/sqlite"
)

type migrateCmd struct {
	Data           string `help:"The data directory; no service may be running on it." required:"" placeholder:"DIR"`
	NATS           string `name:"nats" help:"The bus of the fleet." required:"" placeholder:"URL"`
	ExposureStore  string `help:"The Redis or Redis Cluster of the fleet." required:"" placeholder:"redis://HOST"`
	Export         bool   `help:"Back: into the data directory, while no service of the fleet runs."`
	ExposurePolicy string `help:"As for serve: how long the histories stay." default:"rotate" placeholder:"POLICY"`
	busAccess
}

// Run moves users' histories between a data directory and the Redis of a fleet.
func (c *migrateCmd) Run(co *stdio) error {
	return must.Catch(func() {
		must.Do(isDataDir(c.Data))
		lock := must.Get(datadir.Acquire(c.Data, datadir.Holder{Command: "migrate"}))
		defer lock.Close()
		histories, err := exposure.ReadPolicies(c.ExposurePolicy)
		must.Dof(err, "--exposure-policy")
		service := reachFlags{NATS: c.NATS, busAccess: c.busAccess}
		conn := must.Get(service.connect(co))
		defer conn.Close()
		js := bus.JetStream(conn)
		must.Get(js.AccountInfo(co.ctx))
		store := must.Get(redis.Open(c.ExposureStore, c.StreamPrefix+"jianguo"))
		defer store.Close()
		m := &exposure.Move{File: filepath.Join(c.Data, datadir.Exposures), Redis: store,
			Progress: co.progress.stages("migrate:"),
			Kept: func(history string) time.Duration {
				p, ok := histories.Policies[history]
				if !ok {
					p = histories.Policies[""]
				}
				return p.Kept()
			}}
		if c.Export {
			c.export(co, m, js)
			return
		}
		moved := must.Get(m.Import(co.ctx, func(meta map[string]string) error { return c.drained(co.ctx, meta) }))
		must.Get(fmt.Fprintf(co.out, "%d histories moved and compared; the directory keeps its own as they are. "+
			"Start each service with --nats and --exposure-store\n", moved))
	})
}

// export puts what the Redis holds in the place of the state file, once all reports are applied. It panics on errors
// (must).
func (c *migrateCmd) export(co *stdio, m *exposure.Move, js jetstream.JetStream) {
	if _, err := js.Conn().Request(bus.SubjectJudging, nil, judgingWait); !errors.Is(err, nats.ErrNoResponders) {
		must.Do(errors.New("a service on this bus runs, or is paused: stop all of them: " +
			"what they acknowledge meanwhile would be lost"))
	}
	for p := range redis.Partitions {
		at, err := m.Redis.Progress(co.ctx, p)
		if err == nil {
			err = waiting(co.ctx, js, c.StreamPrefix+eventlog.StreamName, at.Applied.Seq,
				eventlog.SubjectPrefix+"*."+strconv.Itoa(p))
		}
		if err != nil {
			must.Do(fmt.Errorf("%w: let a service of the fleet apply it, and stop it", err))
		}
	}
	fresh, users := must.Get2(m.Export(co.ctx))
	report, err := exposure.VerifyFile(co.ctx, fresh)
	if err == nil && report.Users != users {
		err = fmt.Errorf("the file holds %d histories of %d", report.Users, users)
	}
	must.Dof(err, "%s", fresh)
	kept := must.Get(m.Replace(fresh))
	must.Get(fmt.Fprintf(co.out, "%d histories exported and verified; those the directory had are in %s. The Redis "+
		"keeps its own. Start the service without --exposure-store; with the embedded bus its log is that of before\n",
		users, kept))
}

// drained refuses a directory that has not applied all that its embedded bus has acknowledged.
func (c *migrateCmd) drained(ctx context.Context, meta map[string]string) error {
	return must.Catch(func() {
		file := exposure.FileDSN(filepath.Join(c.Data, datadir.Catalogue), "mode=ro&_query_only=on")
		catalogue := must.Get(sql.Open("sqlite3", file))
		defer catalogue.Close()
		const query = "SELECT key, value FROM meta WHERE key IN ('applied', 'stream_base')"
		values, err := must.Try(func() map[string]uint64 {
			return maps.Collect(sqlite.Pairs[string, uint64](ctx, catalogue, query))
		})
		must.Dof(err, "the catalogue")
		applied := must.Get(strconv.ParseUint(meta["applied"], 10, 64))
		must.Do(bus.Offline(filepath.Join(c.Data, "bus"), func(js jetstream.JetStream) error {
			for stream, done := range map[string]uint64{bus.StreamItems: values["applied"] - values["stream_base"],
				eventlog.StreamName: applied} {
				if err := waiting(ctx, js, stream, done, ""); err != nil {
					return fmt.Errorf("%w: start the service once more without publishers, wait until /readyz is "+
						"ready, and stop it", err)
				}
			}
			return nil
		}))
	})
}

// waiting returns an error if a stream holds a message after a sequence, of a subject if one is given.
func waiting(ctx context.Context, js jetstream.JetStream, name string, after uint64, subject string) error {
	stream, err := js.Stream(ctx, name)
	var m *jetstream.RawStreamMsg
	if err == nil {
		m, err = stream.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(cmp.Or(subject, ">")))
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrMsgNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("stream %s: %w", name, err)
	}
	return fmt.Errorf("the stream %s holds what is not applied yet, from sequence %d on", name, m.Sequence)
}
