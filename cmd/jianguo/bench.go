package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"jianguo/exposure"
	filterbench "jianguo/exposure/bench"
	indexbench "jianguo/index/bench"
	"jianguo/ingest"
	"jianguo/segment"
	"jianguo/simhash"
)

type benchCmd struct {
	Index   benchIndexCmd   `cmd:"" help:"Build an index of N items and measure it."`
	Ingest  benchIngestCmd  `cmd:"" help:"Measure ingest over its bus: articles a second, and publish to verdict at half of that."`
	Filter  benchFilterCmd  `cmd:"" help:"Measure POST /filter on a server of its own, and Redis beside it."`
	Control benchControlCmd `cmd:"" hidden:"" help:"Serve the control of bench filter."`
}

type benchIndexCmd struct {
	N           uint64 `short:"n" help:"How many items." default:"1000000"`
	Real        string `help:"Perturb the fingerprints of these articles instead of random ones: JSON lines, maybe gzipped." type:"existingfile" placeholder:"FILE"`
	Dir         string `help:"Keep the index here; empty: a temporary directory, removed at the end." placeholder:"DIR"`
	NoCatalogue bool   `help:"Fingerprint postings and their snapshot only. So from 20 million items on, which it says."`
	Catalogue   bool   `help:"The catalogue too, at any size: about 350 bytes an item on disk." xor:"catalogue"`
	Resume      bool   `help:"Go on with what a former run left in --dir: only what is missing of N is inserted."`
	NoBaselines bool   `help:"Leave out the linear scan and the SQLite rows."`
	Judged      uint64 `help:"How many items, the last ones, are inserted with judging; 0: 20,000, at most a tenth."`
	Queries     int    `help:"Look-ups of each kind." default:"2000"`
	Rows        int    `help:"Items of the baseline in SQLite rows, at most." default:"1000000"`
	JSON        bool   `help:"Print one line of JSON."`
	Plot        string `help:"Draw inserts a second and look-ups against size to this file, .svg or .png." placeholder:"FILE"`
	segmentFlags
}

// Help says what the rates are.
func (c *benchIndexCmd) Help() string {
	return `inserts_per_second is the durable insert: row, sketch, event, postings and look-ups of an item whose verdict is known, in
batches of 256, each committed with synchronous=FULL, snapshots written meanwhile. judged_inserts_per_second is the same with
the verdict made, on the last items. Time to make up the items is in neither. Without a catalogue there is only
resident_inserts_per_second: postings in memory.`
}

// withoutCatalogue is the size from which the catalogue is left out.
const withoutCatalogue = 20_000_000

// Run builds and measures an index.
func (c *benchIndexCmd) Run(co *streams) error {
	real, err := c.fingerprints(co)
	if err != nil {
		return err
	}
	if c.Dir != "" {
		lock, err := lockDir(c.Dir, holder{Command: "bench"})
		if err != nil {
			return err
		}
		defer lock.Close()
	}
	bare := c.NoCatalogue || c.N >= withoutCatalogue && !c.Catalogue
	if bare && !c.NoCatalogue {
		fmt.Fprintf(co.err, "from %d items on the catalogue is left out; --catalogue keeps it\n", withoutCatalogue)
	}
	res, err := indexbench.Run(co.ctx, indexbench.Options{N: c.N, Real: real, Dir: c.Dir, NoCatalogue: bare, Resume: c.Resume, NoBaselines: c.NoBaselines,
		Judged: c.Judged, Queries: c.Queries, Rows: c.Rows, Seed: 1, Progress: co.progress("bench")})
	if err != nil {
		return err
	}
	if c.Plot != "" {
		if err := plotIndex(c.Plot, res); err != nil {
			return err
		}
	}
	if c.JSON {
		return json.NewEncoder(co.out).Encode(res)
	}
	return res.Print(co.out)
}

// fingerprints are those of a file's articles.
func (c *benchIndexCmd) fingerprints(co *streams) ([]simhash.Fingerprint, error) {
	if c.Real == "" {
		return nil, nil
	}
	s, err := newSegmenter(c.segmentFlags)
	if err != nil {
		return nil, err
	}
	var all []simhash.Fingerprint
	var text segment.Text
	err = readLines(co.in, c.Real, func(number int, line []byte) error {
		it, err := ingest.DecodeDocument(wireItem(line))
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", c.Real, number, err)
		}
		s.Analyze(&text, it.Title, it.Body)
		if p := ingest.Fingerprint(&text); !p.Empty() {
			all = append(all, p.Fingerprint)
		}
		return nil
	})
	return all, err
}

type benchFilterCmd struct {
	Against string        `help:"Measure this beside it: redis, or none." enum:"redis,none" default:"none"`
	Redis   string        `help:"The redis-server to start." default:"redis-server"`
	Users   int           `help:"Users of the mix; 0: leave it out." default:"1000000"`
	Mix     string        `help:"Shares of users by how much they have seen." default:"60x50,30x500,10x20000"`
	Events  int           `help:"Single-item events to publish; 0: leave them out." default:"200000"`
	Each    time.Duration `help:"How long each measurement takes." default:"5s"`
	Rate    float64       `help:"Requests a second where latencies are measured; 0: a share of the peak, 70 % of one hot user's, half of cold users'."`
	Dir     string        `help:"For state; empty: a temporary directory." placeholder:"DIR"`
	Only    []string      `help:"Only these parts: process, hot, load, events, mix." enum:"process,hot,load,events,mix" placeholder:"PART"`
	JSON    bool          `help:"Print one line of JSON."`
	Plot    string        `help:"Draw latencies at 70 % of the peak to this file, .svg or .png." placeholder:"FILE"`
}

// Run starts servers of this same binary and measures them.
func (c *benchFilterCmd) Run(co *streams) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	mix, err := exposure.ParseMix(c.Mix)
	if err != nil {
		return err
	}
	o := filterbench.Options{Dir: c.Dir, Each: c.Each, Rate: c.Rate, Users: c.Users, Mix: mix, Events: c.Events, Only: c.Only, Log: co.err,
		Start: func(a filterbench.ServerArgs) *exec.Cmd {
			durability := "synced"
			if a.Relaxed {
				durability = "relaxed"
			}
			args := []string{"serve", "--data", a.Dir, "--listen", a.HTTP, "--nats-listen", a.NATS, "--durability", durability,
				"--exposure-cache", fmt.Sprint(max(a.CacheMB, 1))}
			if a.Policy != "" {
				args = append(args, "--exposure-policy", a.Policy)
			}
			return exec.CommandContext(co.ctx, self, args...)
		}}
	o.Control = func(answer int) *exec.Cmd {
		return exec.CommandContext(co.ctx, self, "bench", "control", "--answer", fmt.Sprint(answer))
	}
	if c.Against == "redis" {
		if o.Redis, err = exec.LookPath(c.Redis); err != nil {
			return fmt.Errorf("--against redis: %w (Debian: apt-get install redis-server)", err)
		}
	}
	res, err := filterbench.Run(co.ctx, o)
	if err != nil {
		return err
	}
	if c.Plot != "" {
		if err := plotLatencies(c.Plot, res.Latencies); err != nil {
			return err
		}
	}
	if c.JSON {
		return json.NewEncoder(co.out).Encode(res)
	}
	out := json.NewEncoder(co.out)
	out.SetIndent("", "  ")
	return out.Encode(res)
}

type benchControlCmd struct {
	Answer int `help:"Bytes of an answer." default:"0"`
}

// Run serves until it is told to stop.
func (c *benchControlCmd) Run(co *streams) error {
	return filterbench.ServeControl(co.ctx, co.out, c.Answer)
}

// exposureCmd are things to know about exposure state.
type exposureCmd struct {
	Size exposureSizeCmd `cmd:"" help:"Print what users take, by the usual formulas."`
}

type exposureSizeCmd struct {
	Users  int64   `help:"How many users." default:"50000000"`
	Mix    string  `help:"Shares of users by how much they have seen." default:"60x50,30x500,10x20000"`
	Rate   float64 `help:"Exposures a second, of all users."`
	Policy string  `help:"How exposures are kept, as for serve." default:"rotate"`
}

// Run prints sizes.
func (c *exposureSizeCmd) Run(co *streams) error {
	p, err := exposure.ParsePolicy(c.Policy)
	if err != nil {
		return err
	}
	mix, err := exposure.ParseMix(c.Mix)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(co.out)
	if err := exposure.WriteSizes(out, p, c.Users, mix, c.Rate); err != nil {
		return err
	}
	return out.Flush()
}
