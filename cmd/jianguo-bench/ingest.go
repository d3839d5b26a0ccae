package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"jianguo/bus"
	"jianguo/cmd/jianguo-bench/indexbench"
	"jianguo/cmd/jianguo-bench/ingestbench"
	"jianguo/cmd/jianguo-bench/proc"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/internal/datadir"
	"jianguo/internal/jsonl"
)

type ingestCmd struct {
	File       string        `arg:"" help:"Articles to publish, the first half flat out, the rest to measure latency: JSON lines, plain or .gz." type:"existingfile"`
	NATS       string        `name:"nats" help:"Measure a service that runs there, and grow its catalogue; without it one is started." placeholder:"URL"`
	Dir        string        `help:"Data directory of the service that is started; empty: a temporary one, removed at the end." placeholder:"DIR"`
	Rate       float64       `help:"Articles a second while latency is measured; 0: a share of what was reached flat out."`
	Share      float64       `help:"That share." default:"0.5"`
	Duration   time.Duration `help:"How long latency is measured at most; less if the articles run out." default:"20s"`
	Prefill    uint64        `help:"Synthetic items to put into the catalogue first; items of an earlier run in --dir count."`
	Durability string        `help:"Of the service that is started: ${enum}." enum:"synced,relaxed" default:"synced"`
	NoTexts    bool          `help:"Of the service that is started: do not keep bodies."`
	JSON       bool          `help:"Print one line of JSON."`
	Rule       string        `help:"Of the service that is started: which rules judge, ${enum}." enum:"jianguo,hamming" default:"jianguo"`
	Distance   int           `help:"Of the service that is started: largest Hamming distance of a certain proposal, 0 to 3." default:"3"`
	Suspects   string        `help:"Of the service that is started: what becomes of suspects, ${enum}." enum:"publish,hold,reject" default:"publish"`
	Window     time.Duration `help:"Of the service that is started: how long a story is remembered after its last copy." default:"2160h"`
	serviceFlags
	segmentFlags
}

// ingestResult is a run, and the size of the catalogue at its start.
type ingestResult struct {
	Prefilled uint64 `json:"prefilled"`
	ingestbench.Result
}

// Run measures a running service, or starts one.
func (c *ingestCmd) Run(co *streams) (err error) {
	items, err := c.items(co)
	if err != nil {
		return err
	}
	if c.NATS == "" {
		dir, remove, err := orTemporary(c.Dir)
		if err != nil {
			return err
		}
		c.Dir = dir
		defer func() { err = errors.Join(err, remove()) }()
		if c.Prefill > 0 {
			if err := c.prefill(co); err != nil {
				return err
			}
		}
		s, err := c.start(co)
		if err != nil {
			return err
		}
		defer s.Stop()
	}
	res, err := ingestbench.Run(co.ctx, ingestbench.Options{URL: c.NATS, Items: items, Rate: c.Rate, Share: c.Share, Duration: c.Duration,
		Progress: co.progress.Stages("bench")})
	if err != nil {
		return err
	}
	return c.print(co.out, &ingestResult{Prefilled: c.Prefill, Result: *res})
}

// items reads the articles to publish.
func (c *ingestCmd) items(co *streams) (items []*ingest.Item, err error) {
	err = jsonl.Read(co.in, c.File, func(number int, line []byte) error {
		it, err := ingest.DecodeDocument(jsonl.Item(line))
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", c.File, number, err)
		}
		it.Revision = 0
		items = append(items, it)
		return nil
	})
	return items, err
}

// start starts a service on c.Dir and sets c.NATS to its bus. It waits until the
// outlines of the catalogue are in memory: until then judging reads more, and
// `jianguo-bench index` measures that.
func (c *ingestCmd) start(co *streams) (*proc.Server, error) {
	jianguo, err := c.jianguo()
	if err != nil {
		return nil, err
	}
	args := append([]string{"serve", "--data", c.Dir, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--durability", c.Durability,
		fmt.Sprintf("--no-texts=%t", c.NoTexts), "--rule", c.Rule, "--distance", fmt.Sprint(c.Distance), "--suspects", c.Suspects,
		"--window", c.Window.String()}, c.segmentFlags.args()...)
	s, err := proc.StartServer(co.ctx, exec.CommandContext(co.ctx, jianguo, args...), c.Dir, -1)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(s.Holder.NATS)
	if err != nil {
		return nil, errors.Join(err, fmt.Errorf("%s", s.Stop()))
	}
	address.User = url.User(s.Holder.Token)
	c.NATS = address.String()
	for {
		done, err := s.Metric(co.ctx, "jianguo_index_outlines_progress")
		if err == nil && done == 1 {
			return s, nil
		}
		if err != nil {
			s.Stop()
			return nil, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// prefill puts items into the catalogue before a service opens it.
func (c *ingestCmd) prefill(co *streams) error {
	lock, err := datadir.Acquire(c.Dir, datadir.Holder{Command: "bench"})
	if err != nil {
		return err
	}
	defer lock.Close()
	began := time.Now().Add(-time.Duration(c.Prefill) * time.Millisecond)
	if err := indexbench.Fill(co.ctx, indexbench.Options{N: c.Prefill, Dir: c.Dir, Seed: 1, Progress: co.progress.Stages("bench")}, began); err != nil {
		return err
	}
	return c.skipEvents(co)
}

// skipEvents lets VERDICTS begin where the catalogue ends: the service would
// otherwise publish the events of the prefilled items while articles are measured.
func (c *ingestCmd) skipEvents(co *streams) (err error) {
	x, err := index.Open(co.ctx, index.Config{Dir: c.Dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	embedded, err := bus.Start(bus.Config{Dir: filepath.Join(c.Dir, "bus"), Gates: bus.GatedStreams()})
	if err != nil {
		return err
	}
	defer embedded.Close()
	conn, err := embedded.Connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := ingest.New(co.ctx, ingest.Config{Bus: embedded, Conn: conn, Index: x}); err != nil { // creates the streams
		return err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	stream, err := js.Stream(co.ctx, bus.StreamVerdicts)
	if err != nil {
		return err
	}
	if _, last := x.Applied(); stream.CachedInfo().State.LastSeq < last {
		return stream.Purge(co.ctx, jetstream.WithPurgeSequence(last+1))
	}
	return nil
}

func (c *ingestCmd) print(w io.Writer, res *ingestResult) error {
	if c.JSON {
		return json.NewEncoder(w).Encode(res)
	}
	if _, err := fmt.Fprintf(w, "%d items in the catalogue at the start\n", res.Prefilled); err != nil {
		return err
	}
	return res.Print(w)
}
