package maintain

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/exposure"
	"jianguo/exposure/eventlog"
	"jianguo/exposure/redis"
	"jianguo/internal/companion"
	"jianguo/internal/datadir"
	"jianguo/internal/reach"
	"jianguo/internal/sqlite"
)

type migrateCmd struct {
	Data           string `help:"The data directory; no service may be running on it." required:"" placeholder:"DIR"`
	NATS           string `name:"nats" help:"The bus of the fleet." required:"" placeholder:"URL"`
	ExposureStore  string `help:"The Redis or Redis Cluster of the fleet." required:"" placeholder:"redis://HOST,..."`
	Export         bool   `help:"Back: what the Redis holds replaces the histories in the data directory. No service of the fleet may be running."`
	ExposurePolicy string `help:"As for serve: how long the histories stay." default:"rotate" placeholder:"POLICY"`
	reach.Access
	companion.Flags
}

// Run moves users' histories between a data directory and the Redis of a fleet.
func (c *migrateCmd) Run(co *companion.Streams) error {
	if err := isDataDir(c.Data); err != nil {
		return err
	}
	lock, err := datadir.Acquire(c.Data, datadir.Holder{Command: "migrate"})
	if err != nil {
		return err
	}
	defer lock.Close()
	m, err := c.open(co)
	if err != nil {
		return err
	}
	defer m.redis.Close()
	defer m.conn.Close()
	if c.Export {
		return m.export(co)
	}
	return m.move(co)
}

// move is a move of histories and its two sides.
type move struct {
	dir, file string
	prefix    string
	policies  map[string]exposure.Policy // by history
	conn      *nats.Conn
	js        jetstream.JetStream
	redis     *redis.Conn
}

func (c *migrateCmd) open(co *companion.Streams) (_ *move, err error) {
	m := &move{dir: c.Data, file: filepath.Join(c.Data, datadir.Exposures), prefix: c.StreamPrefix}
	if strings.HasSuffix(c.ExposurePolicy, ".json") {
		var cfg exposure.Config
		cfg, err = exposure.ReadPolicies(c.ExposurePolicy)
		m.policies = cfg.Policies
	} else {
		var p exposure.Policy
		p, err = exposure.ParsePolicy(c.ExposurePolicy)
		m.policies = map[string]exposure.Policy{"": p}
	}
	if err != nil {
		return nil, fmt.Errorf("--exposure-policy: %w", err)
	}
	service := reach.Flags{NATS: c.NATS, Access: c.Access}
	if m.conn, _, err = service.Reach(&co.Ctx, co.Log, nil); err != nil {
		return nil, err
	}
	if m.js, err = jetstream.New(m.conn); err == nil {
		_, err = m.js.AccountInfo(co.Ctx)
	}
	if err == nil {
		m.redis, err = redis.Open(c.ExposureStore, c.StreamPrefix+"jianguo")
	}
	if err != nil {
		m.conn.Close()
		return nil, err
	}
	return m, nil
}

// policy is that of a history.
func (m *move) policy(history string) exposure.Policy {
	if p, ok := m.policies[history]; ok {
		return p
	}
	return m.policies[""]
}

// drained refuses a directory that has not applied all that its embedded bus has acknowledged.
func (m *move) drained(ctx context.Context, meta map[string]string) error {
	embedded, err := bus.Start(bus.Config{Dir: filepath.Join(m.dir, "bus")})
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
	catalogue, err := sql.Open("sqlite3", exposure.FileDSN(filepath.Join(m.dir, datadir.Catalogue), "mode=ro&_query_only=on"))
	if err != nil {
		return err
	}
	defer catalogue.Close()
	values := map[string]uint64{}
	err = sqlite.Each(ctx, catalogue, "SELECT key, value FROM meta WHERE key IN ('applied', 'stream_base')", func(rows *sql.Rows) error {
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
	for stream, done := range map[string]uint64{bus.StreamItems: values["applied"] - values["stream_base"], eventlog.StreamName: applied} {
		if err := waiting(ctx, js, stream, done, ""); err != nil {
			return fmt.Errorf("%w: start the service once more without publishers, wait until /readyz is ready, and stop it", err)
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
