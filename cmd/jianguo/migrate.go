package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/internal/datadir"
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
func (c *migrateCmd) Run(co *streams) error {
	if err := isDataDir(c.Data); err != nil {
		return err
	}
	lock, err := datadir.Acquire(c.Data, datadir.Holder{Command: "migrate"})
	if err != nil {
		return err
	}
	defer lock.Close()
	histories, err := exposure.ReadPolicies(c.ExposurePolicy)
	if err != nil {
		return fmt.Errorf("--exposure-policy: %w", err)
	}
	service := reachFlags{NATS: c.NATS, busAccess: c.busAccess}
	conn, err := service.connect(&co.ctx, co.log)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err == nil {
		_, err = js.AccountInfo(co.ctx)
	}
	if err != nil {
		return err
	}
	store, err := redis.Open(c.ExposureStore, c.StreamPrefix+"jianguo")
	if err != nil {
		return err
	}
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
		return c.export(co, m, js)
	}
	moved, err := m.Import(co.ctx, func(meta map[string]string) error { return c.drained(co.ctx, meta) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(co.out, "%d histories moved and compared; the directory keeps its own as they are. "+
		"Start each service with --nats and --exposure-store\n", moved)
	return err
}

// export puts what the Redis holds in the place of the state file, once all reports are applied.
func (c *migrateCmd) export(co *streams, m *exposure.Move, js jetstream.JetStream) error {
	for p := range redis.Partitions {
		at, err := m.Redis.Progress(co.ctx, p)
		if err == nil {
			err = waiting(co.ctx, js, c.StreamPrefix+eventlog.StreamName, at.Applied,
				eventlog.SubjectPrefix+"*."+strconv.Itoa(p))
		}
		if err != nil {
			return fmt.Errorf("%w: let a service of the fleet apply it, and stop it", err)
		}
	}
	fresh, users, err := m.Export(co.ctx)
	if err != nil {
		return err
	}
	report, err := exposure.VerifyFile(co.ctx, fresh)
	if err == nil && report.Users != users {
		err = fmt.Errorf("the file holds %d histories of %d", report.Users, users)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", fresh, err)
	}
	kept, err := m.Replace(fresh)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(co.out, "%d histories exported and verified; those the directory had are in %s. The Redis "+
		"keeps its own. Start the service without --exposure-store; with the embedded bus its log is that of before\n",
		users, kept)
	return err
}

// drained refuses a directory that has not applied all that its embedded bus has acknowledged.
func (c *migrateCmd) drained(ctx context.Context, meta map[string]string) error {
	embedded, err := bus.Start(bus.Config{Dir: filepath.Join(c.Data, "bus")})
	if err != nil {
		return err
	}
	defer embedded.Close()
	conn, err := embedded.Connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	catalogue, err := sql.Open("sqlite3", exposure.FileDSN(filepath.Join(c.Data, datadir.Catalogue),
		"mode=ro&_query_only=on"))
	if err != nil {
		return err
	}
	defer catalogue.Close()
	values := map[string]uint64{}
	err = sqlite.Each(ctx, catalogue, "SELECT key, value FROM meta WHERE key IN ('applied', 'stream_base')",
		func(rows *sql.Rows) error {
			var name, value string
			err := rows.Scan(&name, &value)
			if err == nil {
				values[name], err = strconv.ParseUint(value, 10, 64)
			}
			return err
		})
	if err != nil {
		return fmt.Errorf("the catalogue: %w", err)
	}
	applied, err := strconv.ParseUint(meta["applied"], 10, 64)
	if err != nil {
		return err
	}
	for stream, done := range map[string]uint64{bus.StreamItems: values["applied"] - values["stream_base"],
		eventlog.StreamName: applied} {
		if err := waiting(ctx, js, stream, done, ""); err != nil {
			return fmt.Errorf("%w: start the service once more without publishers, wait until /readyz is ready, and "+
				"stop it", err)
		}
	}
	return nil
}

// waiting returns an error if a stream holds a message after a sequence, of a subject if one is given.
func waiting(ctx context.Context, js jetstream.JetStream, name string, after uint64, subject string) error {
	stream, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", name, err)
	}
	m, err := stream.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(cmp.Or(subject, ">")))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", name, err)
	}
	return fmt.Errorf("the stream %s holds what is not applied yet, from sequence %d on", name, m.Sequence)
}
